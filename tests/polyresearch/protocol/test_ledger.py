"""results.tsv: no row is lost, whatever is in it, and each attempt gets the row that the protocol asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from herdr_polyresearch.protocol.ledger import (
    Ledger,
    Row,
    best_accepted,
    missing_rows,
    read_ledger,
    show_ledger,
)
from herdr_polyresearch.protocol.program import Program
from hypothesis import given
from hypothesis import strategies as st

Start = Callable[..., Any]
HEADER = "thesis\tattempt\tmetric\tbaseline\tstatus\tsummary\n"
ROW = "#12\tthesis/12-a\t0.9934\t0.9979\taccepted\tRMSNorm instead of LayerNorm\n"


def rows(s: Any, text: str | None = None) -> list[tuple[str, ...]]:
    return [msgspec.structs.astuple(row) for row in missing_rows(s.state, read_ledger(text))]


def test_a_sound_file_is_written_as_it_was_read() -> None:
    ledger = read_ledger(HEADER + ROW)
    assert ledger.rows == (
        Row("#12", "thesis/12-a", "0.9934", "0.9979", "accepted", "RMSNorm instead of LayerNorm"),
    )
    assert not ledger.damaged
    assert show_ledger(ledger) == HEADER + ROW


@pytest.mark.parametrize(
    ("damage", "written"),
    [
        (HEADER + ROW.replace("RMSNorm ", "RMS\tNorm "), HEADER + ROW.replace("RMSNorm ", "RMS Norm ")),
        (HEADER + "#9\tthesis/9-x\t1.0\n" + ROW, HEADER + "#9\tthesis/9-x\t1.0\n" + ROW),
        (HEADER + "<<<<<<< HEAD\n" + ROW, HEADER + "<<<<<<< HEAD\n" + ROW),
        (ROW, HEADER + ROW),
        (HEADER.replace("\n", "\r\n") + ROW.replace("\n", "\r\n"), HEADER + ROW),
        (HEADER + "\n" + ROW.rstrip("\n"), HEADER + ROW),
        ("", HEADER),
    ],
)
def test_a_damaged_file_loses_nothing(damage: str, written: str) -> None:
    ledger = read_ledger(damage)
    assert show_ledger(ledger) == written
    assert ledger.damaged == (damage != written)


def test_a_row_with_a_tab_too_many_is_there(story: Start) -> None:
    s = story().claimed()
    branch = s.attempt(observation="crashed")
    assert rows(s, HEADER + f"#12\t{branch}\t\N{EM DASH}\t1.0000\tcrashed\ta\tb\n") == []


@given(st.lists(st.text(alphabet="#12a\t\n\r \N{EM DASH}", max_size=30), max_size=6))
def test_whatever_the_file_holds_nothing_of_it_is_lost_and_it_settles(parts: list[str]) -> None:
    text = HEADER + "\n".join(parts)
    once = show_ledger(read_ledger(text))
    assert show_ledger(read_ledger(once)) == once
    assert sorted("".join(once.split())) == sorted("".join(text.split()))


@pytest.mark.parametrize("outcome", ["non_improvement", "disagreement", "stale", "infra_failure"])
def test_a_decided_attempt_has_its_outcome(story: Start, outcome: str) -> None:
    s = story().submitted().passed().decided(outcome)
    assert [row[4] for row in rows(s)] == [outcome]


def test_an_open_attempt_has_no_row_yet(story: Start) -> None:
    assert rows(story().submitted()) == []


def test_a_closed_thesis_gives_rows_for_all_its_attempts(story: Start) -> None:
    s = story().claimed()
    s.attempt()
    s.attempt(observation="no_improvement")
    assert rows(s) == []
    assert [row[4] for row in rows(s.end(12))] == ["discarded", "discarded"]


def test_a_release_just_before_an_attempt_does_not_discard_it(story: Start) -> None:
    s = story().claimed()
    s.release(reason="timeout")
    # All within the second of the release.
    s.wait(minutes=-1).claimed("bob/n1")
    s.wait(minutes=-1).attempt(by="bob")
    assert rows(s) == []


def test_reviewed_rows_carry_the_mean_of_what_the_reviewers_measured(story: Start) -> None:
    s = story(required_confirmations=2).submitted(1.5).passed()
    s.review("bob/r", 1.4)
    s.review("carol/r", 1.41)
    s.review("dave/r", 0.0, observation="crashed")
    s.decided("accepted", confirmations=3)
    assert [row[2:5] for row in rows(s)] == [("1.4050", "1.0000", "accepted")]


def test_a_small_metric_keeps_its_digits(story: Start) -> None:
    s = story().claimed()
    s.attempt(1.234e-5, baseline=0.5)
    s.release()
    assert [row[2:4] for row in rows(s)] == [("1.234e-05", "0.5000")]


def test_a_missing_baseline_and_a_summary_with_tabs(story: Start) -> None:
    s = story().claimed()
    s.attempt(baseline=None, summary="a\tb\nc")
    s.release()
    assert [row[3:] for row in rows(s)] == [("N/A", "discarded", "a b c")]


def test_rows_are_matched_by_branch_and_added_in_order(story: Start) -> None:
    s = story().claimed()
    first, second = s.attempt(), s.attempt(2.0)
    s.release()
    missing = missing_rows(s.state, Ledger())
    assert [row.attempt for row in missing] == [first, second]
    text = show_ledger(Ledger(), missing)
    assert rows(s, text) == []
    assert rows(s, text.replace(first, "thesis/12-other")) == [msgspec.structs.astuple(missing[0])]


def test_the_bar_passes_over_rows_that_were_taken_back() -> None:
    ledger = read_ledger(HEADER + ROW + "#13\tthesis/13-b\t0.5\t1\taccepted\tx\n")
    lower = Program(metric_direction="lower_is_better")
    assert best_accepted(ledger.rows, lower) == 0.5
    assert best_accepted(ledger.rows, lower, frozenset({"thesis/13-b"})) == 0.9934
    assert best_accepted(ledger.rows, Program()) == 0.9934
    assert best_accepted((), lower) is None
