"""When nothing more is launched because starts fail (`docs/ideas-seeds-runs.md`, "Runs")."""

from __future__ import annotations

from collections.abc import Iterable

#: So many failed starts within so many seconds stop the launching for a project.
FAILED_STARTS, WINDOW = 3, 600.0


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
