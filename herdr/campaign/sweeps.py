"""When a sweep of research or of the watchdog is due, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import msgspec

from herdr.contract.words import ResearchTrigger, SweepState, WatchdogTrigger

#: A sweep is given at most so many seeds: an agent that has time for each reads the earlier work.
SEEDS = 8
#: How a sweep ends that was cut short: what it was given is given to one more.
KILLED: tuple[SweepState, SweepState] = ("failed", "timed_out")


# --- research ---------------------------------------------------------------------------------------------------


class ResearchSweep(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep to queue: for the seeds that it is given, or for as many ideas of its own."""

    trigger: ResearchTrigger
    seeds: tuple[int, ...] = ()
    ideas: int = 0


def research_due(
    triggers: Collection[ResearchTrigger],
    seeds: Sequence[int],
    *,
    free: int,
    wanted: Callable[[], int],
    may_look: Callable[[], bool],
) -> list[ResearchSweep]:
    """The research sweeps to queue now, in their order.

    Seeds come first, since somebody waits for them; a sweep for new ideas takes a slot that they leave.

    Args:
        triggers: what starts a sweep in this project.
        seeds: those that wait for a sweep, in their order.
        free: how many more sweeps of the role there may be.
        wanted: how many ideas a sweep should look for; asked only if one could be queued.
        may_look: whether a sweep for new ideas may start now (`herdr.campaign.research`); asked last.
    """
    due: list[ResearchSweep] = []
    if "seed" in triggers:
        batches = [tuple(seeds[first : first + SEEDS]) for first in range(0, len(seeds), SEEDS)]
        due += [ResearchSweep(trigger="seed", seeds=batch) for batch in batches[: max(0, free)]]
    if "low_water" in triggers and len(due) < free:
        ideas = wanted()
        if ideas > 0 and may_look():
            due.append(ResearchSweep(trigger="low_water", ideas=ideas))
    return due


# --- the watchdog -----------------------------------------------------------------------------------------------


class WatchdogFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a campaign when the watchdog could look into it. Times are in seconds.

    `open_run`: one is not settled yet. `closed`: a sweep has looked back on the campaign since it stopped.
    `incident`: something that asks for a sweep at once was given to none. `since`: when the last review was
    queued, or else the first run; None before any.
    """

    stopped: bool = False
    open_run: bool = False
    closed: bool = False
    incident: bool = False
    since: float | None = None


def watchdog_due(
    triggers: Collection[WatchdogTrigger],
    facts: WatchdogFacts,
    *,
    interval: float,
    now: float,
    active: Callable[[], bool],
) -> WatchdogTrigger | None:
    """Why the watchdog is to look into the campaign now; None when it is not.

    A stopped campaign is looked back on once, when all is over. Until then incidents come before reviews, and a
    review is due when the interval is over and something has run in it.

    Args:
        triggers: what starts a sweep in this project.
        facts: what is known.
        interval: seconds between two reviews; 0 for none.
        now: the time.
        active: whether something has run since the last review; asked last.
    """
    if facts.stopped:
        return "closing" if "closing" in triggers and not facts.open_run and not facts.closed else None
    if "incident" in triggers and facts.incident:
        return "incident"
    if "interval" not in triggers or not interval or facts.since is None:
        return None
    return "interval" if now >= facts.since + interval and active() else None


# --- what it came to --------------------------------------------------------------------------------------------


class SweepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when the agent of a sweep has ended.

    `start_failed`: it never really started, for the last time. `lost`: its tmux server or its machine went away.
    `given_up`: herdr ended it for a dialog that nobody answered, or a turn that failed for good. `exit_status`
    and `exit_signal` are its own doing. `detail` says more, in words.
    """

    cancelled: bool = False
    stopped: bool = False
    timed_out: bool = False
    lost: bool = False
    start_failed: bool = False
    given_up: bool = False
    exit_status: int | None = None
    exit_signal: int | None = None
    detail: str = ""


class SweepOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the sweep from now on, and the same in words; nothing is said of one that is simply done."""

    state: SweepState
    detail: str = ""


def sweep_outcome(facts: SweepFacts) -> SweepOutcome:
    """Decide what a sweep came to; one whose agent was lost goes back to the queue."""
    if facts.lost:
        return SweepOutcome(state="queued")
    if facts.cancelled or facts.stopped:
        return SweepOutcome(state="cancelled", detail=facts.detail)
    if facts.timed_out:
        return SweepOutcome(state="timed_out", detail=facts.detail)
    if facts.start_failed or facts.given_up:
        return SweepOutcome(state="failed", detail=facts.detail or "it never really started")
    if facts.exit_signal is not None:
        return SweepOutcome(state="failed", detail=f"killed by signal {facts.exit_signal}")
    if facts.exit_status:
        return SweepOutcome(state="failed", detail=f"exited with status {facts.exit_status}")
    return SweepOutcome(state="done")
