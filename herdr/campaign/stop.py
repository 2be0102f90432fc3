"""When a campaign ends by itself: the conditions of [stop], and the limit of [spend]."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Literal

import msgspec

from herdr.config.structs import Spend, Stop
from herdr.contract.words import Direction

#: Seconds that agents have to wrap up once the campaign has stopped.
WRAP_UP = 600.0


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a campaign is. None stands for what is not known, which reaches no limit.

    `value` is the primary metric of the head. `runs` are the settled runs that count as attempts, `barren` those
    among them with a judged candidate and no keep since the last keep. `hours` are since its first run. `spent`
    is in US dollars.
    """

    value: float | None = None
    runs: int = 0
    hours: float = 0.0
    tokens: int = 0
    barren: int = 0
    spent: float | None = None


class StopLimit(msgspec.Struct, frozen=True, kw_only=True):
    """One configured limit. `key` is it with its value; a `hard` one is not lifted by resuming the campaign."""

    key: str
    reached: bool
    reason: str
    hard: bool = False


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The state to move to, or None to stay; why; and the limits that are behind the campaign from now on."""

    state: Literal["active", "stopped"] | None
    passed: tuple[str, ...]
    reason: str = ""


def limits(stop: Stop, spend: Spend | None, direction: Direction, progress: Progress) -> list[StopLimit]:
    """Every configured limit, and whether it is reached.

    Args:
        stop: the table [stop].
        spend: the table [spend], if there is one.
        direction: of the primary metric, for the target.
        progress: how far the campaign is.
    """
    return list(_limits(stop, spend, direction, progress))


def _limits(stop: Stop, spend: Spend | None, direction: Direction, at: Progress) -> Iterator[StopLimit]:
    if stop.target is not None:
        better = at.value is not None and (
            at.value >= stop.target if direction == "higher" else at.value <= stop.target
        )
        yield _limit("target", stop.target, better, f"the head has reached the target of {stop.target:g}")
    if stop.max_runs is not None:
        yield _limit("max_runs", stop.max_runs, at.runs >= stop.max_runs, f"{at.runs} runs are done")
    if stop.max_hours is not None:
        yield _limit("max_hours", stop.max_hours, at.hours >= stop.max_hours, f"it ran for {at.hours:.1f} hours")
    if stop.max_tokens is not None:
        used = f"its agents have used {at.tokens:,} tokens"
        yield _limit("max_tokens", stop.max_tokens, at.tokens >= stop.max_tokens, used)
    if stop.plateau is not None:
        barren = f"{at.barren} runs in a row gave no keep"
        yield _limit("plateau", stop.plateau, at.barren >= stop.plateau, barren)
    if spend is not None:
        over = at.spent is not None and at.spent >= spend.limit
        reason = f"{at.spent or 0.0:.2f} of {spend.limit:.2f} US dollars are spent"
        yield StopLimit(key=f"spend.limit={spend.limit:g}", reached=over, reason=reason, hard=True)


def _limit(name: str, value: float, reached: bool, reason: str) -> StopLimit:
    return StopLimit(
        key=f"stop.{name}={value:g}", reached=reached, reason=f"{reason} ([stop] {name} = {value:g})"
    )


def decide(known: Sequence[StopLimit], passed: Collection[str], *, state: str) -> Decision:
    """Whether to stop, to go on again, or neither.

    A person who resumes a stopped campaign has decided: what had stopped it does so again only when it was no
    longer reached in between, or has another value. A stopped campaign goes on by itself when what stopped it is
    no longer configured and nothing else is reached.

    Args:
        known: every configured limit.
        passed: the keys of those that stopped the campaign before.
        state: the project's state.
    """
    reached = [limit for limit in known if limit.reached]
    if state == "active":
        new = [limit for limit in reached if limit.hard or limit.key not in passed]
        if new:
            reason = "; ".join(limit.reason for limit in new)
            return Decision(state="stopped", passed=tuple(limit.key for limit in reached), reason=reason)
        return Decision(state=None, passed=tuple(limit.key for limit in reached if limit.key in passed))
    if state == "stopped" and not reached and not {limit.key for limit in known} & set(passed):
        return Decision(state="active", passed=())
    return Decision(state=None, passed=tuple(passed))
