from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.campaign.circuit_breaker import (
    FAILED_STARTS,
    OF_THE_HARNESS,
    OF_THE_PROJECT,
    OF_THE_RUN,
    WINDOW,
    held_until,
)
from herdr.contract.harness import Cause

MINUTE = 60.0
CASES = {
    "nothing failed": ([], 0, None, None),
    "two failed": ([0, 1], 5, None, None),
    "three failed": ([0, 60, 120], 121, None, 600),
    "in any order": ([120, 0, 60], 121, None, 600),
    "three within ten minutes, to the second": ([0, 1, 599], 599, None, 600),
    "the first is ten minutes old": ([0, 1, 600], 600, None, None),
    "four failed: the third from the end has to age out": ([0, 60, 120, 180], 181, None, 660),
    "they age out": ([0, 60, 120], 600, None, None),
    "a person resumed after the last": ([0, 60, 120], 130, 125, None),
    "what fails after that counts anew": ([0, 60, 130, 140, 150], 151, 125, 730),
    "a failure in the second of resuming is before it": ([125, 126, 127], 130, 125, None),
    "resumed long ago": ([1000, 1001, 1002], 1003, 5, 1600),
}  # fmt: skip


@pytest.mark.parametrize(("failed", "now", "resumed", "until"), CASES.values(), ids=CASES)
def test_held_until(failed: list[float], now: float, resumed: float | None, until: float | None) -> None:
    assert held_until(failed, now=now, resumed=resumed) == until


moments = st.lists(st.integers(0, 5000), max_size=12)


@given(moments, st.integers(0, 6000))
def test_a_hold_is_three_recent_failures_and_ends_when_it_says(failed: list[int], now: int) -> None:
    past = [moment for moment in failed if moment <= now]
    until = held_until(past, now=now)
    recent = [moment for moment in past if moment > now - WINDOW]
    assert (until is not None) == (len(recent) >= FAILED_STARTS)
    if until is not None:
        assert now < until <= now + WINDOW
        assert held_until(past, now=until) is None


def test_every_cause_of_a_failed_start_holds_up_what_it_is_the_cause_of() -> None:
    assert {"exited", "crashed", "config", "unknown"} == OF_THE_PROJECT
    assert {"folder", "name_taken", "killed"} == OF_THE_RUN
    assert sorted([*OF_THE_PROJECT, *OF_THE_RUN, *OF_THE_HARNESS]) == sorted(get_args(Cause))
