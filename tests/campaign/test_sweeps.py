from __future__ import annotations

from typing import Any

import pytest

from herdr.campaign.sweeps import (
    KILLED,
    SEEDS,
    SweepFacts,
    WatchdogFacts,
    research_due,
    sweep_outcome,
    watchdog_due,
)

BOTH: Any = ("seed", "low_water")


def never() -> Any:
    raise AssertionError("not to be asked")


def due(
    seeds: int, free: int, *, wanted: int = 0, rested: bool = True, triggers: Any = BOTH
) -> list[tuple[str, tuple[int, ...], int]]:
    found = research_due(triggers, range(1, seeds + 1), free=free, wanted=lambda: wanted, may_look=lambda: rested)
    return [(one.trigger, one.seeds, one.ideas) for one in found]


def given(*ranges: tuple[int, int]) -> list[tuple[str, tuple[int, ...], int]]:
    return [("seed", tuple(range(first, last + 1)), 0) for first, last in ranges]


LOOK = [("low_water", (), 3)]


@pytest.mark.parametrize(
    ("facts", "sweeps"),
    [
        ({"seeds": 0, "free": 1}, []),
        ({"seeds": 1, "free": 1}, given((1, 1))),
        ({"seeds": 8, "free": 1}, given((1, 8))),
        # Each sweep is given so many seeds that it has time for them, and as many sweeps as there are slots.
        ({"seeds": 9, "free": 1}, given((1, 8))),
        ({"seeds": 9, "free": 2}, given((1, 8), (9, 9))),
        ({"seeds": 30, "free": 2}, given((1, 8), (9, 16))),
        ({"seeds": 9, "free": 0}, []),
        ({"seeds": 30, "free": -1}, []),
        # New ideas are looked for in a slot that the seeds leave.
        ({"seeds": 0, "free": 1, "wanted": 3}, LOOK),
        ({"seeds": 1, "free": 2, "wanted": 3}, [*given((1, 1)), *LOOK]),
        ({"seeds": 1, "free": 1, "wanted": 3}, given((1, 1))),
        ({"seeds": 0, "free": 0, "wanted": 3}, []),
        ({"seeds": 0, "free": 3, "wanted": 3}, LOOK),
        ({"seeds": 0, "free": 1, "wanted": 1}, [("low_water", (), 1)]),
        ({"seeds": 0, "free": 1, "wanted": 0}, []),
        ({"seeds": 0, "free": 1, "wanted": -1}, []),
        ({"seeds": 0, "free": 1, "wanted": 3, "rested": False}, []),
        # Each trigger can be off.
        ({"seeds": 1, "free": 2, "wanted": 3, "triggers": ("seed",)}, given((1, 1))),
        ({"seeds": 1, "free": 2, "wanted": 3, "triggers": ("low_water",)}, LOOK),
        ({"seeds": 1, "free": 1, "wanted": 3, "triggers": ("low_water",)}, LOOK),
        ({"seeds": 1, "free": 2, "wanted": 3, "triggers": ()}, []),
    ],
)
def test_which_research_sweeps_are_due(facts: Any, sweeps: Any) -> None:
    assert due(**facts) == sweeps


def test_a_sweep_is_given_eight_seeds_and_a_killed_one_has_another_try() -> None:
    assert (SEEDS, set(KILLED)) == (8, {"failed", "timed_out"})


def test_the_history_is_not_looked_at_when_nothing_depends_on_it() -> None:
    assert research_due(BOTH, [1], free=1, wanted=never, may_look=never)
    assert not research_due(BOTH, [], free=1, wanted=lambda: 0, may_look=never)
    assert not research_due(BOTH[:1], [], free=1, wanted=never, may_look=never)


ALL: Any = ("incident", "interval", "closing")


@pytest.mark.parametrize(
    ("facts", "active", "triggers", "trigger"),
    [
        ({}, True, ALL, None),
        ({"incident": True}, True, ALL, "incident"),
        ({"incident": True}, False, ALL, "incident"),
        ({"incident": True, "since": 0.0}, True, ALL, "incident"),
        ({"incident": True, "since": 0.0}, True, ("interval",), "interval"),
        ({"incident": True}, True, ("interval", "closing"), None),
        # A review: the interval is over, and something has run in it.
        ({"since": 100.0}, True, ALL, "interval"),
        ({"since": 101.0}, True, ALL, None),
        ({"since": 99.0}, True, ALL, "interval"),
        ({"since": 100.0}, False, ALL, None),
        ({"since": 100.0}, True, ("incident", "closing"), None),
        ({"since": None}, True, ALL, None),
        ({"since": 100.0, "open_run": True, "closed": True}, True, ALL, "interval"),
        # A stopped campaign is looked back on once, when all is over.
        ({"stopped": True}, True, ALL, "closing"),
        ({"stopped": True, "open_run": True}, True, ALL, None),
        ({"stopped": True, "closed": True}, True, ALL, None),
        ({"stopped": True, "incident": True, "since": 0.0}, True, ALL, "closing"),
        ({"stopped": True, "incident": True, "since": 0.0}, True, ("incident", "interval"), None),
    ],
)
def test_when_the_watchdog_is_due(facts: Any, active: bool, triggers: Any, trigger: str | None) -> None:
    found = watchdog_due(triggers, WatchdogFacts(**facts), interval=60.0, now=160.0, active=lambda: active)
    assert found == trigger


def test_an_interval_of_nothing_means_no_reviews() -> None:
    facts = WatchdogFacts(since=0.0)
    assert watchdog_due(ALL, facts, interval=0, now=1e9, active=never) is None
    assert watchdog_due(ALL, facts, interval=1, now=0.5, active=never) is None


@pytest.mark.parametrize(
    ("facts", "state", "detail"),
    [
        ({}, "done", ""),
        ({"detail": "idle, with nothing running"}, "done", ""),
        ({"exit_status": 0}, "done", ""),
        ({"exit_status": 3}, "failed", "exited with status 3"),
        ({"exit_status": 1}, "failed", "exited with status 1"),
        ({"exit_signal": 9}, "failed", "killed by signal 9"),
        ({"exit_signal": 15, "exit_status": 1}, "failed", "killed by signal 15"),
        ({"given_up": True, "detail": "Log in?"}, "failed", "Log in?"),
        ({"given_up": True, "exit_status": 1, "detail": "no credit"}, "failed", "no credit"),
        ({"start_failed": True}, "failed", "it never really started"),
        ({"start_failed": True, "exit_status": 1}, "failed", "it never really started"),
        ({"start_failed": True, "detail": "no such file"}, "failed", "no such file"),
        ({"timed_out": True, "detail": "ran longer than 9 s"}, "timed_out", "ran longer than 9 s"),
        ({"timed_out": True, "start_failed": True}, "timed_out", ""),
        ({"cancelled": True, "detail": "cancelled"}, "cancelled", "cancelled"),
        ({"stopped": True, "detail": "it stopped"}, "cancelled", "it stopped"),
        ({"cancelled": True, "timed_out": True}, "cancelled", ""),
        ({"stopped": True, "start_failed": True}, "cancelled", ""),
        # What befell the machine is nobody's fault: it is tried once more.
        ({"lost": True, "detail": "gone"}, "queued", ""),
        ({"lost": True, "cancelled": True}, "queued", ""),
        ({"lost": True, "start_failed": True}, "queued", ""),
    ],
)
def test_what_a_sweep_came_to(facts: Any, state: str, detail: str) -> None:
    found = sweep_outcome(SweepFacts(**facts))
    assert (found.state, found.detail) == (state, detail)
