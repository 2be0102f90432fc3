from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.campaign.research import Backlog, PastSweep, may_look, shortage


@pytest.mark.parametrize(
    ("waiting", "coming", "runs_left", "missing"),
    [
        (0, 0, None, 6),
        (5, 0, None, 1),
        (6, 0, None, 0),
        (9, 0, None, 0),
        (4, 1, None, 1),
        (4, 2, None, 0),
        (0, 0, 2, 2),
        (0, 0, 5, 5),
        (0, 0, 7, 6),
        (2, 0, 2, 0),
        (0, 0, 0, 0),
    ],
)
def test_shortage(waiting: int, coming: int, runs_left: int | None, missing: int) -> None:
    assert shortage(Backlog(waiting=waiting, coming=coming), slots=4, buffer=2, runs_left=runs_left) == missing


def sweep(queued: float, finished: float, ideas: int = 0, *, killed: bool = False) -> PastSweep:
    return PastSweep(queued=queued, finished=finished, ideas=ideas, killed=killed)


GOOD, BARREN, KILLED = sweep(0, 100, 1), sweep(0, 100), sweep(0, 100, killed=True)
CASES = {
    "the first": ([], 0, 0, True),
    "the last one found something": ([GOOD], 0, 100, True),
    "one found nothing, nothing has run": ([BARREN], 0, 199, False),
    "after as long a rest as it took": ([BARREN], 0, 200, True),
    "the rest is as long as it took, and not as late as it was": ([sweep(50, 150)], 0, 250, True),
    "and no shorter": ([sweep(50, 150)], 0, 249, False),
    "or after two runs": ([BARREN], 2, 101, True),
    "one run is too few": ([BARREN], 1, 101, False),
    "two found nothing: three times as long": ([BARREN, BARREN], 0, 399, False),
    "two found nothing, rested": ([BARREN, BARREN], 0, 400, True),
    "two found nothing, four runs": ([BARREN, BARREN], 4, 101, True),
    "an idea ends the row": ([BARREN, GOOD, BARREN, BARREN], 2, 101, True),
    "a killed one is tried again at once": ([KILLED], 0, 100, True),
    "once": ([KILLED, KILLED], 0, 101, False),
    "a killed one after a barren one": ([KILLED, BARREN], 0, 100, True),
}


@pytest.mark.parametrize(("past", "runs", "now", "expected"), CASES.values(), ids=CASES)
def test_may_look(past: list[PastSweep], runs: int, now: float, expected: bool) -> None:
    assert may_look(past, runs_since=runs, now=now) is expected


@given(st.integers(1, 11))
def test_the_rest_doubles_and_so_do_the_runs(barren: int) -> None:
    past = [BARREN] * barren
    step = 2 ** min(barren, 10)
    assert not may_look(past, runs_since=step - 1, now=100)
    assert may_look(past, runs_since=step, now=100)
    assert may_look(past, runs_since=0, now=100 + (step - 1) * 100)


def test_what_is_not_said_of_a_sweep_or_a_backlog() -> None:
    assert not PastSweep(queued=0, finished=1, ideas=0).killed
    assert Backlog(waiting=3) == Backlog(waiting=3, coming=0)
