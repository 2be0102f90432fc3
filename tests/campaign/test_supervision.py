from __future__ import annotations

from typing import Any, get_args

import pytest

from herdr.campaign.supervision import at_rest, is_to_be_warned, last_call, stuck, time_is_up, warning_at
from herdr.contract.harness import AgentState


@pytest.mark.parametrize(
    ("state", "still", "why"),
    [
        ("blocked", 600.0, None),
        ("blocked", 600.1, "blocked"),
        ("blocked", 61.0, None),
        ("failed_turn", 60.0, None),
        ("failed_turn", 60.1, "failed"),
        ("failed_turn", 1e6, "failed"),
    ],
)
def test_when_an_agent_is_stuck(state: Any, still: float, why: str | None) -> None:
    assert stuck(state, still) == why


@pytest.mark.parametrize("state", sorted(set(get_args(AgentState)) - {"blocked", "failed_turn"}))
def test_an_agent_that_waits_for_nobody_is_not_stuck(state: Any) -> None:
    assert stuck(state, 1e9) is None


REST: Any = {"state": "idle", "still": 5.0, "worked": True, "briefed": True, "waiting": False}


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({}, True),
        ({"still": 500.0}, True),
        ({"still": 4.9}, False),
        ({"worked": False}, False),
        ({"briefed": False}, False),
        ({"waiting": True}, False),
        ({"waiting": True, "still": 500.0}, False),
    ],
)
def test_when_an_agent_is_at_rest(change: Any, answer: bool) -> None:
    assert at_rest(**{**REST, **change}) is answer


@pytest.mark.parametrize("state", sorted(set(get_args(AgentState)) - {"idle"}))
def test_only_an_idle_agent_is_at_rest(state: Any) -> None:
    assert not at_rest(**{**REST, "state": state})


@pytest.mark.parametrize(("left", "answer"), [(1.0, False), (0.01, False), (0.0, True), (-5.0, True)])
def test_when_its_time_is_up(left: float, answer: bool) -> None:
    assert time_is_up(left) is answer


@pytest.mark.parametrize(
    ("left", "warned", "answer"),
    [(101.0, False, False), (100.0, False, True), (5.0, False, True), (100.0, True, False), (101.0, True, False)],
)
def test_when_it_is_warned(left: float, warned: bool, answer: bool) -> None:
    assert warning_at(1000.0) == 100.0
    assert is_to_be_warned(left, 1000.0, warned=warned) is answer


@pytest.mark.parametrize(
    ("stopped", "launched", "end"),
    [(None, 50.0, None), (100.0, 50.0, 700.0), (100.0, 100.0, 700.0), (100.0, 100.1, None), (0.0, -1.0, 600.0)],
)
def test_the_last_call_of_a_campaign_that_stopped(
    stopped: float | None, launched: float, end: float | None
) -> None:
    assert last_call(stopped, launched) == end
