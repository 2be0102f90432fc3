"""When the research role looks for new ideas, without spinning when it finds none."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

#: Beyond this many sweeps in a row without an idea, the rest between two grows no longer.
LONGEST = 10


class PastSweep(msgspec.Struct, frozen=True, kw_only=True):
    """A research sweep that has ended. Times are in seconds; `killed`: it failed, or ran out of time."""

    queued: float
    finished: float
    ideas: int
    killed: bool = False


class Backlog(msgspec.Struct, frozen=True, kw_only=True):
    """The ideas for workers: those `waiting` run sooner or later, and so many are `coming` from live sweeps."""

    waiting: int
    coming: int = 0


def shortage(backlog: Backlog, *, slots: int, buffer: int, runs_left: int | None = None) -> int:
    """How many ideas are missing.

    Args:
        backlog: what there is.
        slots: how many workers there can be at once.
        buffer: `[roles.research] buffer`, ready ideas beyond one for each of them.
        runs_left: how many runs `[stop] max_runs` leaves, if it is set: ideas beyond that are of no use.
    """
    wanted = slots + buffer if runs_left is None else min(slots + buffer, runs_left)
    return max(0, wanted - backlog.waiting - backlog.coming)


def may_look(past: Sequence[PastSweep], *, runs_since: int, now: float) -> bool:
    """Whether a sweep for new ideas may start when ideas are missing.

    After n sweeps in a row without one idea it takes 2**n newly finished runs, or a rest of 2**n - 1 times the
    last sweep's duration. A sweep that was killed is tried again once, at once.

    Args:
        past: the project's research sweeps that have ended, the newest first.
        runs_since: how many runs have ended since the newest of them was queued.
        now: the time in seconds.
    """
    if not past:
        return True
    last = past[0]
    if last.killed and not (len(past) > 1 and past[1].killed):
        return True
    barren = next((n for n, sweep in enumerate(past) if sweep.ideas), len(past))
    step: int = 1 << min(barren, LONGEST)
    return runs_since >= step or now >= last.finished + (step - 1) * (last.finished - last.queued)
