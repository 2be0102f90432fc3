from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.campaign.outcome import (
    Outcome,
    RunFacts,
    StartFacts,
    after_failed_start,
    failed_start,
    idea_after,
    run_outcome,
)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, True),
        ({"seconds": 120.0, "tokens": 0}, True),
        ({"seconds": 120.1}, False),
        ({"tokens": 1}, False),
        ({"committed": True}, False),
        ({"commented": True}, False),
        ({"timed_out": True}, False),
        ({"cancelled": True}, False),
        ({"lost": True}, False),
        ({"lost": True, "killed": 2}, False),
        ({"lost": True, "killed": 3}, True),
        ({"lost": True, "killed": 4, "committed": True, "seconds": 500.0}, True),
        ({"killed": 3, "cancelled": True}, False),
        ({"launched": False}, True),
        ({"launched": False, "seconds": 500.0}, True),
        ({"launched": False, "cancelled": True}, False),
    ],
)
def test_failed_start(facts: dict[str, Any], expected: bool) -> None:
    assert failed_start(StartFacts(**facts)) is expected


def test_the_third_failed_start_ends_the_run() -> None:
    assert [after_failed_start(starts) for starts in (1, 2, 3, 4)] == ["restart", "restart", "fail", "fail"]


@pytest.mark.parametrize(
    ("facts", "state", "end", "counts"),
    [
        ({"commits": 2}, "succeeded", "finished", True),
        ({"commits": 2, "exit_status": 0, "finding": True}, "succeeded", "finished", True),
        ({"commits": 1, "recovered": True}, "succeeded", "finished", True),
        ({"finding": True}, "succeeded", "finding_only", True),
        ({"finding": True, "recovered": True}, "succeeded", "finding_only", True),
        ({}, "failed", "no_commits", True),
        ({"exit_status": 0}, "failed", "no_commits", True),
        ({"recovered": True}, "failed", "recovered_only", True),
        ({"commits": 1, "exit_status": 3}, "failed", "process_error", True),
        ({"commits": 1, "exit_signal": 9}, "failed", "process_error", True),
        ({"failure": "quota"}, "failed", "process_error", True),
        ({"blocked": True, "commits": 1}, "failed", "blocked", True),
        ({"start_failed": True, "exit_status": 1}, "failed", "start_failed", True),
        ({"stopped": True, "commits": 1}, "cancelled", "stopped", False),
        ({"timed_out": True, "commits": 1, "exit_signal": 9}, "timed_out", "timed_out", True),
        ({"timed_out": True, "lost": True}, "timed_out", "timed_out", True),
        ({"cancelled": True, "commits": 1}, "cancelled", "cancelled", False),
        ({"cancelled": True, "lost": True, "timed_out": True}, "cancelled", "cancelled", False),
        ({"lost": True, "commits": 1}, "queued", None, False),
        ({"lost": True, "start_failed": True}, "queued", None, False),
        ({"folder_lost": "a link", "commits": 1, "lost": True}, "failed", "folder_lost", True),
        ({"folder_lost": "a link", "timed_out": True}, "failed", "folder_lost", True),
        ({"folder_lost": "a link", "cancelled": True}, "cancelled", "cancelled", False),
        ({"folder_lost": "a link", "stopped": True}, "cancelled", "stopped", False),
        ({"ending_failed": "no disk", "commits": 1}, "failed", "ending_failed", True),
        ({"ending_failed": "no disk", "cancelled": True}, "cancelled", "cancelled", False),
        ({"ending_failed": "no disk", "lost": True}, "queued", None, False),
    ],
)
def test_run_outcome(facts: dict[str, Any], state: str, end: str, counts: bool) -> None:
    outcome = run_outcome(RunFacts(**facts))
    assert (outcome.state, outcome.end, outcome.counts) == (state, end, counts)
    assert outcome.detail


def test_a_run_that_failed_may_have_left_a_keep_and_says_how() -> None:
    # "Left nothing but uncommitted work" beside a keep that became the head would read as a contradiction.
    detail = run_outcome(RunFacts(recovered=True)).detail
    assert "of its own" in detail
    assert "its uncommitted work was committed for it and is scored" in detail


@pytest.mark.parametrize(
    ("facts", "detail"),
    [
        ({"cancelled": True}, "cancelled"),
        ({"stopped": True}, "the campaign stopped first"),
        ({"exit_status": 3}, "exited with status 3"),
        ({"exit_signal": 9}, "was killed by SIGKILL"),
        ({"exit_signal": 255}, "was killed by signal 255"),
        ({"failure": "quota"}, "its last turn failed: quota"),
    ],
)
def test_the_detail_names_what_happened(facts: dict[str, Any], detail: str) -> None:
    assert run_outcome(RunFacts(**facts)).detail == detail


FINISHED = run_outcome(RunFacts(commits=1))
NOTHING = run_outcome(RunFacts())
TIMED_OUT = run_outcome(RunFacts(timed_out=True))
NEVER_STARTED = run_outcome(RunFacts(start_failed=True))
CANCELLED = run_outcome(RunFacts(cancelled=True))
STOPPED = run_outcome(RunFacts(stopped=True))
LOST = run_outcome(RunFacts(lost=True))


@pytest.mark.parametrize(
    ("outcome", "attempts", "status"),
    [
        (FINISHED, 1, "done"),
        (FINISHED, 2, "done"),
        (NOTHING, 1, "ready"),
        (NOTHING, 2, "done"),
        (NOTHING, 3, "done"),
        (TIMED_OUT, 1, "ready"),
        (TIMED_OUT, 2, "done"),
        (NEVER_STARTED, 1, "ready"),
        (NEVER_STARTED, 2, "parked"),
        (CANCELLED, 0, "parked"),
        (STOPPED, 0, "ready"),
        (STOPPED, 2, "ready"),
        (LOST, 0, "scheduled"),
        (LOST, 2, "scheduled"),
        (msgspec.structs.replace(FINISHED, state="running"), 2, "scheduled"),
    ],
)
def test_idea_after(outcome: Outcome, attempts: int, status: str) -> None:
    assert idea_after(outcome, attempts=attempts, limit=2, status="scheduled") == status


outcomes = st.builds(
    RunFacts,
    commits=st.integers(0, 2),
    recovered=st.booleans(),
    finding=st.booleans(),
    exit_status=st.none() | st.integers(0, 255),
    exit_signal=st.none() | st.integers(1, 64),
    failure=st.none() | st.just("auth"),
    start_failed=st.booleans(),
    blocked=st.booleans(),
    timed_out=st.booleans(),
    cancelled=st.booleans(),
    lost=st.booleans(),
).map(run_outcome)


@given(outcomes, st.integers(0, 5), st.sampled_from(["seed", "proposed", "ready", "done", "parked", "rejected"]))
def test_what_a_person_set_stays(outcome: Outcome, attempts: int, status: Any) -> None:
    assert idea_after(outcome, attempts=attempts, limit=2, status=status) == status


@given(outcomes, st.integers(1, 5))
def test_an_idea_without_attempts_left_never_runs_again_by_itself(outcome: Outcome, limit: int) -> None:
    status = idea_after(outcome, attempts=limit, limit=limit, status="scheduled")
    assert status == ("scheduled" if outcome.end is None else status)
    assert status != "ready"


def test_what_is_not_known_of_an_end_says_nothing() -> None:
    assert StartFacts() == StartFacts(
        launched=True,
        seconds=0.0,
        tokens=None,
        committed=False,
        commented=False,
        timed_out=False,
        cancelled=False,
        lost=False,
    )
