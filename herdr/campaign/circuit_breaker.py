"""When nothing more is launched because starts fail (`docs/ideas-seeds-runs.md`, "Runs")."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from herdr.contract.harness import Cause

#: So many failed starts within so many seconds stop the launching for a project.
FAILED_STARTS, WINDOW = 3, 600.0

#: Causes that are one run's own, and hold nobody up: its folder is lost, a name is taken, its wrapper was
#: killed.
OF_THE_RUN: frozenset[Cause] = frozenset({"folder", "name_taken", "killed"})
#: Causes that are the harness's own: they hold up what runs on it, and nothing else.
OF_THE_HARNESS: frozenset[Cause] = frozenset(
    {
        "not_found", "auth", "quota", "rate_limited", "overloaded", "unreachable", "model", "context",
        "permission", "trust", "onboarding", "api_key", "hooks", "update", "draft",
    }
)  # fmt: skip
#: All others are as likely to be the project's, so they hold up the project.
OF_THE_PROJECT: frozenset[Cause] = frozenset(get_args(Cause)) - OF_THE_RUN - OF_THE_HARNESS


def held_until(failed: Iterable[float], *, now: float, resumed: float | None = None) -> float | None:
    """Until when nothing may be launched for a project; None when it may be now.

    Args:
        failed: when starts of its agents failed, of any role and in any order, in seconds.
        now: the time, in the same seconds.
        resumed: when a person last resumed the project: what failed before that holds nothing up.
    """
    since = max(now - WINDOW, resumed if resumed is not None else float("-inf"))
    recent = sorted(moment for moment in failed if moment > since)
    return recent[-FAILED_STARTS] + WINDOW if len(recent) >= FAILED_STARTS else None
