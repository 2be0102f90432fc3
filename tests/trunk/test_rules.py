"""Which candidate is the head after each event, as tables.

Candidates are written as their line of descent: `3 2:discard 1:keep*` is candidate 3, made from 2, made from 1,
which is a keep on the trunk.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from herdr.campaign.verdict import Verdict
from herdr.contract.words import VerdictCause, VerdictWord
from herdr.trunk.rules import (
    after_merge,
    after_note,
    after_overruling,
    after_rejudging,
    after_run,
    bar_of,
    head_before,
    judged_again,
    made_from_head,
    may_judge,
    passed_by,
    waits_for_merge,
)

RUN, OTHER_RUN = 7, 8


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    verdict: str | None = None
    on_trunk: bool = False
    origin: str = "run"
    run_id: int | None = RUN


def commit(text: str) -> Commit:
    """`4`, `4:discard`, `4:keep` (on a branch), `4:keep*` (on the trunk), `1=baseline:keep`, `4/8` (of run 8)."""
    name, _, word = text.partition(":")
    name, _, origin = name.partition("=")
    number, _, run = name.partition("/")
    return Commit(
        id=int(number),
        verdict=word.rstrip("*") or None,
        on_trunk=word.endswith("*"),
        origin=origin or "run",
        run_id=int(run or RUN),
    )


def line(text: str) -> list[Commit]:
    return [commit(one) for one in text.split()]


def said(word: VerdictWord, cause: VerdictCause | None = None) -> Verdict:
    return Verdict(verdict=word, rule="gain", reason="so", cause=cause)


KEEP, DISCARD, CRASH = said("keep"), said("discard"), said("crash")


@pytest.mark.parametrize(
    ("descent", "bar"),
    [
        ("1=baseline:keep*", 1),
        ("3:keep* 1=baseline:keep*", 3),
        ("3:discard 2:keep 1=baseline:keep*", 2),
        ("4 3:interesting 2:discard 1=baseline:keep*", 1),
        # Nothing in the line is a keep: it is where the line begins.
        ("4:crash 3=imported", 3),
        ("2:discard 1=baseline:discard", 1),
        ("3=imported", 3),
    ],
)
def test_the_bar_is_the_nearest_keep(descent: str, bar: int) -> None:
    assert bar_of(line(descent)).id == bar


@pytest.mark.parametrize(
    ("descent", "head", "branch", "answer"),
    [
        ("2 1:keep*", 1, False, True),
        ("2 1:keep*", 1, True, False),
        ("4 3:discard 2:interesting 1:keep*", 1, False, True),
        ("4 3 1:keep*", 1, False, True),
        # It was made from another keep, whatever that was made from.
        ("4 3:keep 1:keep*", 1, False, False),
        ("4 3:keep* 1:keep*", 1, False, False),
        ("4 3:discard 2:keep 1:keep*", 1, False, False),
        # It was made from what the head was made from.
        ("3 1:keep*", 2, False, False),
        ("3 1:discard", 2, False, False),
        ("3 2:discard 1:discard", None, False, False),
        # The head is not made from itself.
        ("3:keep* 1:keep*", 3, False, False),
        # The head is no keep for the moment: it is still what the candidate was made from.
        ("3 2:discard 1:keep*", 2, False, True),
    ],
)
def test_a_candidate_was_made_from_the_head(descent: str, head: int, branch: bool, answer: bool) -> None:
    assert made_from_head(line(descent), head, branch=branch) is answer


@pytest.mark.parametrize(
    ("descent", "before"),
    [
        ("2:keep* 1=baseline:keep*", 1),
        ("5:keep* 4:keep* 1=baseline:keep*", 4),
        ("5:keep* 4:discard 3:keep* 1=baseline:keep*", 3),
        # What was overruled in between is skipped, and so is a keep that never was the head.
        ("5:keep* 4:discard 1=baseline:keep*", 1),
        ("5:keep* 4:keep 3:interesting 1=baseline:keep*", 1),
        # The line tells the order, and not the numbers: a merge may be made into an older candidate.
        ("9:keep* 2:keep* 5:keep* 1=baseline:keep*", 2),
        # A baseline that is a keep is on the trunk.
        ("2:keep* 1=baseline:keep", 1),
        # Never the head itself: where no other keep is left, there is none.
        ("1=baseline:keep*", None),
        ("2:keep* 1=baseline:discard", None),
        ("2:discard* 1=baseline:discard", None),
        ("3:keep* 2:keep 1=baseline:crash", None),
        # What is said to be on the trunk and is no keep is no head.
        ("3:keep* 2:interesting* 1=baseline:keep*", 1),
    ],
)
def test_the_head_before_is_the_keep_that_it_was_built_on(descent: str, before: int | None) -> None:
    assert head_before(line(descent)) == before


def test_a_keep_that_was_passed_by_waits_for_its_merge() -> None:
    verdict = passed_by(Verdict(verdict="keep", rule="gain", reason="6 beats 5"), 9)
    assert verdict == Verdict(
        verdict="interesting",
        rule="gain",
        reason="6 beats 5; meanwhile the head moved to candidate#9",
        cause="moved",
    )


@pytest.mark.parametrize(
    ("origin", "verdict", "cause", "answer"),
    [
        ("run", "interesting", "moved", True),
        ("rebase", "interesting", "moved", True),
        ("rebase", None, None, True),
        ("rebase", "keep", None, False),
        ("rebase", "discard", "override", False),
        ("run", None, None, False),
        ("run", "interesting", "note", False),
    ],
)
def test_what_waits_for_a_merge(origin: str, verdict: str | None, cause: str | None, answer: bool) -> None:
    assert waits_for_merge(origin, verdict, cause) is answer


def run_of(commits: str, head: int | None, *, branch: bool = False, bar: int = 1) -> tuple[str, int | None]:
    """Judge `2+ 3-`: 2 is to be judged and beats its bar, 3 is to be judged and does not. Others have a verdict.

    Gives each ruling as `candidate:verdict@bar`, with `*` for on the trunk, and the head.
    """
    better = {int(one[:-1]) for one in commits.split() if one.endswith("+")}
    found = after_run(
        head,
        bar,
        line(commits.replace("+", "").replace("-", "")),
        lambda candidate, _: KEEP if candidate in better else DISCARD,
        run=RUN,
        branch=branch,
    )
    told = [
        f"{one.candidate}:{one.verdict.verdict}@{one.bar}"
        + "*" * one.on_trunk
        + "?" * (one.verdict.cause == "moved")
        for one in found.rulings
    ]
    return " ".join(told), found.head


@pytest.mark.parametrize(
    ("commits", "head", "rulings", "then"),
    [
        ("", 1, "", 1),
        ("2-", 1, "2:discard@1", 1),
        ("2+", 1, "2:keep@1*", 2),
        # Each keep is the bar of the next commit, and the last is the head.
        ("2+ 3+ 4-", 1, "2:keep@1* 3:keep@2* 4:discard@3", 3),
        ("2- 3+", 1, "2:discard@1 3:keep@1*", 3),
        # The head has moved on: what would be a keep waits for its merge.
        ("2-", 9, "2:discard@1", 9),
        ("2+", 9, "2:interesting@1?", 9),
        ("2+ 3- 4+", 9, "2:interesting@1? 3:discard@2 4:interesting@2?", 9),
        ("2+", None, "2:interesting@1?", None),
        # Judged before: nothing is judged twice, and the head stays.
        ("2:keep* 3:discard", 2, "", 2),
        ("2:keep* 3:discard", 9, "", 9),
        ("2:discard 3+", 1, "2:discard 3:keep@1*".partition(" ")[2], 3),
        # A person made a commit of the run the head meanwhile: the run goes on from there.
        ("2:keep* 3+", 2, "3:keep@2*", 3),
        ("2:keep* 3-", 2, "3:discard@2", 2),
        # It came after the one that is judged now, so the head does not go back.
        ("2+ 3:keep*", 3, "2:keep@1*", 3),
        # A person's keep that is not on the trunk is a bar, and never the head.
        ("2:keep 3+", 9, "3:interesting@2?", 9),
        ("2:keep 3-", 1, "3:discard@2", 1),
        ("2+ 3:keep", 1, "2:keep@1*", 2),
        ("2:interesting* 3+", 2, "3:interesting@1?", 2),
        # It merged the head of another run: that is no way to the head for what it made before.
        ("2+ 5/8:keep* 6-", 5, "2:interesting@1? 6:discard@5", 5),
        ("5/8:keep* 6+", 5, "6:interesting@5?", 5),
    ],
)
def test_the_head_after_a_run(commits: str, head: int | None, rulings: str, then: int | None) -> None:
    assert run_of(commits, head) == (rulings, then)


@pytest.mark.parametrize("head", [1, 9])
def test_a_branch_run_moves_no_head(head: int) -> None:
    assert run_of("2+ 3- 4+", head, branch=True) == ("2:keep@1 3:discard@2 4:keep@2", head)


def test_each_commit_is_judged_against_its_bar() -> None:
    asked = []

    def judge(candidate: int, bar: int) -> Verdict:
        asked.append((candidate, bar))
        return KEEP if candidate == 3 else DISCARD

    after_run(1, 1, line("2 3 4"), judge, run=RUN, branch=False)
    assert asked == [(2, 1), (3, 1), (4, 3)]


@pytest.mark.parametrize(
    ("head", "verdict", "word", "on_trunk", "then"),
    [
        (5, KEEP, "keep", True, 6),
        (5, DISCARD, "discard", False, 5),
        (5, CRASH, "crash", False, 5),
        (9, KEEP, "interesting", False, 9),
        (9, DISCARD, "discard", False, 9),
        (None, KEEP, "interesting", False, None),
    ],
)
def test_the_head_after_a_merge(
    head: int | None, verdict: Verdict, word: str, on_trunk: bool, then: int | None
) -> None:
    found = after_merge(head, 5, 6, verdict)
    [ruling] = found.rulings
    assert (ruling.candidate, ruling.bar) == (6, 5)
    assert (ruling.verdict.verdict, ruling.on_trunk, found.head) == (word, on_trunk, then)
    assert ruling.verdict == (passed_by(verdict, head) if word == "interesting" else verdict)


@pytest.mark.parametrize(
    ("candidate", "head", "verdict", "branch", "before", "word", "on_trunk", "then"),
    [
        # A keep stays where it is.
        ("3:keep*", 3, KEEP, False, 1, "keep", True, 3),
        ("3:keep*", 9, KEEP, False, 1, "keep", True, 9),
        ("3:keep", 9, KEEP, False, 1, "keep", False, 9),
        ("3:keep", 2, KEEP, True, 1, "keep", False, 2),
        # One that becomes a keep: made from the head, passed by, on a branch.
        ("3:discard", 2, KEEP, False, 1, "keep", True, 3),
        ("3:crash", 2, KEEP, False, 1, "keep", True, 3),
        ("3:discard", 9, KEEP, False, 1, "interesting", False, 9),
        ("3:discard", 2, KEEP, True, 1, "keep", False, 2),
        ("3:discard", 9, KEEP, True, 1, "keep", False, 9),
        ("3", 2, KEEP, False, 1, "keep", True, 3),
        # None that is not the head moves it by becoming none.
        ("3:discard", 2, DISCARD, False, 1, "discard", False, 2),
        ("3:keep*", 9, DISCARD, False, 1, "discard", False, 9),
        ("3:keep", 9, CRASH, True, 1, "crash", False, 9),
        ("3:keep*", 9, DISCARD, False, None, "discard", False, 9),
        # The head hands over to the keep before it.
        ("3:keep*", 3, DISCARD, False, 1, "discard", False, 1),
        ("3:keep*", 3, CRASH, False, 2, "crash", False, 2),
        # There is none before it: it stays a keep.
        ("3:keep*", 3, DISCARD, False, None, "keep", True, 3),
        ("3:keep*", 3, CRASH, False, None, "keep", True, 3),
    ],
)
def test_the_head_after_a_new_score(
    candidate: str,
    head: int,
    verdict: Verdict,
    branch: bool,
    before: int | None,
    word: str,
    on_trunk: bool,
    then: int,
) -> None:
    found = after_rejudging(head, commit(candidate), 2, verdict, branch=branch, before=before)
    [ruling] = found.rulings
    assert (ruling.candidate, ruling.bar) == (3, 2)
    assert (ruling.verdict.verdict, ruling.on_trunk, found.head) == (word, on_trunk, then)
    if word == "interesting":
        assert ruling.verdict == passed_by(verdict, head)
    elif word == verdict.verdict:
        assert ruling.verdict == verdict


def test_a_head_that_stays_one_for_want_of_another_keep_says_so() -> None:
    worse = Verdict(verdict="discard", rule="no_gain", reason="6 is worse than 5", cause="note")
    found = after_rejudging(3, commit("3:keep*"), 1, worse, branch=False, before=None)
    assert found.rulings[0].verdict == Verdict(
        verdict="keep",
        rule="no_gain",
        reason="6 is worse than 5; it stays the head, because no other keep is left to start from",
    )


@pytest.mark.parametrize(
    ("candidate", "head", "word", "from_head", "before", "answer"),
    [
        # A keep made from the head becomes the head; another stays on its branch, or on the trunk.
        ("3:discard", 1, "keep", True, None, (True, 3)),
        ("3:discard", 9, "keep", False, 1, (False, 9)),
        ("3:keep", 9, "keep", False, 1, (False, 9)),
        ("3:keep*", 9, "keep", False, 1, (True, 9)),
        ("3:keep*", 3, "keep", False, 1, (True, 3)),
        ("3:keep*", 3, "keep", False, None, (True, 3)),
        # None that is not the head moves it.
        ("3:keep*", 9, "discard", False, 1, (False, 9)),
        ("3:discard", 9, "interesting", True, 1, (False, 9)),
        ("3:keep*", 9, "crash", False, None, (False, 9)),
        # The head hands over to the keep before it, and stays if there is none.
        ("3:keep*", 3, "discard", False, 1, (False, 1)),
        ("3:keep*", 3, "interesting", False, 2, (False, 2)),
        ("3:keep*", 3, "crash", False, None, None),
        ("1=baseline:keep*", 1, "discard", False, None, None),
    ],
)
def test_the_head_after_a_verdict_by_a_person(
    candidate: str, head: int, word: Any, from_head: bool, before: int | None, answer: tuple[bool, int] | None
) -> None:
    found = after_overruling(head, commit(candidate), word, from_head=from_head, before=before)
    assert (None if found is None else (found.on_trunk, found.head)) == answer


@pytest.mark.parametrize(("judged_by", "answer"), [(None, True), ("daemon", True), ("human", False), ("", False)])
def test_what_a_person_has_judged_stands(judged_by: str | None, answer: bool) -> None:
    assert may_judge(judged_by) is answer


@pytest.mark.parametrize(
    ("origin", "judged_by", "answer"),
    [
        ("run", "daemon", True),
        ("recovered", "daemon", True),
        ("rebase", "daemon", True),
        ("run", "human", False),
        ("run", None, False),
        ("baseline", "daemon", False),
        ("imported", "daemon", False),
    ],
)
def test_who_is_judged_by_a_new_score(origin: str, judged_by: str | None, answer: bool) -> None:
    assert judged_again(origin, judged_by) is answer


@pytest.mark.parametrize(
    ("verdict", "word"),
    [("discard", "interesting"), ("crash", None), ("keep", None), ("interesting", None), (None, None)],
)
def test_a_note_makes_a_discarded_candidate_interesting(verdict: str | None, word: str | None) -> None:
    assert after_note(verdict) == word
