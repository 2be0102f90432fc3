from __future__ import annotations

from typing import Any

import pytest

from herdr.campaign.stop import Progress, StopLimit, decide, limits
from herdr.config.structs import Spend, Stop

SPEND = Spend(command=("spend",), limit=50)
REACHED: dict[str, tuple[dict[str, Any], Spend | None, dict[str, Any], list[str]]] = {
    "nothing configured": ({}, None, {"runs": 99, "tokens": 10**9}, []),
    "target": ({"target": 0.9}, None, {"value": 0.9}, ["stop.target=0.9"]),
    "below the target": ({"target": 0.9}, None, {"value": 0.89}, []),
    "no value yet": ({"target": 0.9}, None, {}, []),
    "runs": ({"max_runs": 3}, None, {"runs": 3}, ["stop.max_runs=3"]),
    "hours": ({"max_hours": 1.5}, None, {"hours": 1.5}, ["stop.max_hours=1.5"]),
    "tokens": ({"max_tokens": 10}, None, {"tokens": 10}, ["stop.max_tokens=10"]),
    "fewer tokens": ({"max_tokens": 10}, None, {"tokens": 9}, []),
    "a plateau": ({"plateau": 2}, None, {"barren": 2}, ["stop.plateau=2"]),
    "spent": ({}, SPEND, {"spent": 50.0}, ["spend.limit=50"]),
    "not all is spent": ({}, SPEND, {"spent": 49.99}, []),
    "not known what is spent": ({}, SPEND, {}, []),
    "two at once": (
        {"max_runs": 1, "plateau": 1}, None, {"runs": 1, "barren": 1}, ["stop.max_runs=1", "stop.plateau=1"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("stop", "spend", "progress", "expected"), REACHED.values(), ids=REACHED)
def test_limits(stop: dict[str, Any], spend: Spend | None, progress: dict[str, Any], expected: list[str]) -> None:
    found = limits(Stop(**stop), spend, "higher", Progress(**progress))
    assert [limit.key for limit in found if limit.reached] == expected
    assert all(limit.reason for limit in found)


def test_a_target_of_a_metric_that_should_fall() -> None:
    for value in (9, 10):
        (limit,) = limits(Stop(target=10), None, "lower", Progress(value=value))
        assert limit.reached
    (limit,) = limits(Stop(target=10), None, "lower", Progress(value=11))
    assert not limit.reached


def limit(key: str, reached: bool = True, hard: bool = False) -> StopLimit:
    return StopLimit(key=key, reached=reached, reason=f"because of {key}", hard=hard)


DECISIONS: dict[str, tuple[list[StopLimit], list[str], str, tuple[str | None, tuple[str, ...]]]] = {
    "go on": ([limit("a", False)], [], "active", (None, ())),
    "stop": ([limit("a")], [], "active", ("stopped", ("a",))),
    "stay stopped": ([limit("a")], ["a"], "stopped", (None, ("a",))),
    "resumed by a person": ([limit("a")], ["a"], "active", (None, ("a",))),
    "resumed, and another is reached": ([limit("a"), limit("b")], ["a"], "active", ("stopped", ("a", "b"))),
    "resumed, no longer reached": ([limit("a", False)], ["a"], "active", (None, ())),
    "and reached again": ([limit("a")], [], "active", ("stopped", ("a",))),
    "a hard one is not lifted": ([limit("a", hard=True)], ["a"], "active", ("stopped", ("a",))),
    "another value in the file": ([limit("a=2", False)], ["a=1"], "stopped", ("active", ())),
    "another value that is reached too": ([limit("a=2")], ["a=1"], "stopped", (None, ("a=1",))),
    "taken out of the file": ([], ["a"], "stopped", ("active", ())),
    "one of two taken out": ([limit("b")], ["a", "b"], "stopped", (None, ("a", "b"))),
    "no longer reached, but still in the file": ([limit("a", False)], ["a"], "stopped", (None, ("a",))),
    "paused, and taken out of the file": ([], ["a"], "paused", (None, ("a",))),
    "paused by a person": ([limit("a")], [], "paused", (None, ())),
}  # fmt: skip


@pytest.mark.parametrize(("known", "passed", "state", "expected"), DECISIONS.values(), ids=DECISIONS)
def test_decide(
    known: list[StopLimit], passed: list[str], state: str, expected: tuple[str | None, tuple[str, ...]]
) -> None:
    decision = decide(known, passed, state=state)
    assert (decision.state, decision.passed) == expected


def test_the_reason_names_only_what_is_new() -> None:
    assert decide([limit("a"), limit("b")], ["a"], state="active").reason == "because of b"


def test_what_is_not_known_of_a_campaign_reaches_no_limit() -> None:
    assert Progress() == Progress(value=None, runs=0, hours=0.0, tokens=0, barren=0, spent=None)
    assert not StopLimit(key="a", reached=True, reason="x").hard


def test_each_limit_says_how_far_the_campaign_is_and_only_money_is_hard() -> None:
    stop = Stop(target=0.5, max_runs=3, max_hours=2, max_tokens=5000, plateau=4)
    progress = Progress(value=0.5, runs=7, hours=2.25, tokens=6000, barren=5, spent=12.5)
    found = limits(stop, SPEND, "higher", progress)
    assert [limit.reason for limit in found] == [
        "the head has reached the target of 0.5 ([stop] target = 0.5)",
        "7 runs are done ([stop] max_runs = 3)",
        "it ran for 2.2 hours ([stop] max_hours = 2)",
        "its agents have used 6,000 tokens ([stop] max_tokens = 5000)",
        "5 runs in a row gave no keep ([stop] plateau = 4)",
        "12.50 of 50.00 US dollars are spent",
    ]
    assert [limit.key for limit in found if limit.hard] == ["spend.limit=50"]
    (unknown,) = limits(Stop(), SPEND, "higher", Progress())
    assert unknown.reason == "0.00 of 50.00 US dollars are spent"
