"""What is written when verdicts are given, and where the head goes with them."""

from __future__ import annotations

from typing import Any

import pytest

from herdr.errors import RefusedError
from herdr.store.connection import transaction
from herdr.trunk import moves
from herdr.trunk.reading import bar_of, candidates_of, line_of, on_branch, unmerged

from .conftest import DAEMON, HUMAN, Trunk, verdict


def overrule(trunk: Trunk, number: int, word: Any) -> None:
    with transaction(trunk.store):
        moves.overrule(trunk.store, trunk.row(number), word, "as I say", HUMAN)


def again(trunk: Trunk, number: int, bar: int = 1, says: str | None = None) -> moves.Judged | None:
    if says is not None:
        trunk.verdicts[number] = verdict(says)
    with transaction(trunk.store):
        moves.want_judgement(trunk.store, trunk.row(number), "human")
        candidate, against = trunk.row(number), trunk.row(bar)
        return moves.judge_again(trunk.store, candidate, against, trunk.keep_rule, DAEMON)


def merge(trunk: Trunk, merged: int, onto: int) -> moves.Judged | None:
    with transaction(trunk.store):
        return moves.judge_merge(trunk.store, trunk.row(merged), trunk.row(onto), trunk.keep_rule, DAEMON)


# --- the start ------------------------------------------------------------------------------------------------


def test_a_campaign_starts_from_its_baseline(trunk: Trunk) -> None:
    row = trunk.row(1)
    assert (trunk.head, row.origin, row.verdict, row.on_trunk, row.rule) == (
        1,
        "baseline",
        "keep",
        True,
        "baseline",
    )
    assert (row.tree_sha, row.commit_sha, row.subject) == ("1", "c1", "first")
    assert (row.judged_by, row.reason, row.cause) == ("human", "where the campaign starts", None)


def test_files_that_are_a_candidate_already_become_the_head_as_that(trunk: Trunk) -> None:
    assert (trunk.start("1"), trunk.head, trunk.head_moves()) == (1, 1, 1)
    assert (trunk.start("2"), trunk.head, trunk.head_moves()) == (2, 2, 2)


# --- runs -----------------------------------------------------------------------------------------------------


def test_the_verdict_and_the_head_are_written_together(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    [judged] = trunk.judge_run(run)
    row = trunk.row(2)
    assert (judged.candidate, judged.bar, judged.verdict) == (row, trunk.row(1), verdict("keep"))
    assert (row.verdict, row.rule, row.reason, row.cause) == ("keep", "gain", "it is a keep", None)
    assert (row.bar_id, row.on_trunk, row.judged_by, row.judged_at) == (1, True, "daemon", DAEMON.at)
    assert trunk.head == 2


def test_what_was_judged_is_not_judged_again_and_no_event_says_that_the_head_moved(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    trunk.judge_run(run)
    before = trunk.head_moves()
    assert trunk.judge_run(run) == []
    assert (trunk.head_moves(), trunk.asked) == (before, [(2, 1)])


def test_a_verdict_that_a_person_gave_meanwhile_stands_and_is_the_bar_of_what_follows(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    trunk.candidate(run, 2, "keep")
    overrule(trunk, 2, "keep")
    assert trunk.head == 2
    trunk.judge_run(run)
    assert (trunk.asked, trunk.head) == ([(3, 2)], 3)
    assert trunk.row(2).judged_by == "human"


def test_a_head_is_never_what_a_person_discarded_while_it_was_measured(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    overrule(trunk, 2, "discard")
    assert trunk.judge_run(run) == []
    assert (trunk.head, trunk.row(2).verdict) == (1, "discard")


def test_a_keep_that_the_head_passed_by_is_merged_and_judged_there(trunk: Trunk) -> None:
    first, second = trunk.run(), trunk.run()
    trunk.candidate(first, 1, "keep")
    trunk.candidate(second, 1, "keep")
    trunk.judge_run(first)
    [judged] = trunk.judge_run(second)
    assert (judged.verdict.cause, trunk.row(3).on_trunk, trunk.head) == ("moved", False, 2)
    waiting = unmerged(trunk.store, second)
    assert waiting is not None
    assert waiting.id == 3
    trunk.candidate(second, 2, "keep", origin="rebase")
    written = merge(trunk, 4, 2)
    assert written is not None
    assert (written.candidate, written.bar) == (trunk.row(4), trunk.row(2))
    assert (trunk.head, trunk.row(4).on_trunk, unmerged(trunk.store, second)) == (4, True, None)


def test_a_merge_is_made_again_when_the_head_has_moved_again(trunk: Trunk) -> None:
    run, other = trunk.run(), trunk.run()
    trunk.candidate(run, 1, "keep", origin="rebase")
    trunk.candidate(other, 1, "keep")
    trunk.judge_run(other)
    written = merge(trunk, 2, 1)
    assert written is not None
    assert (written.verdict.cause, trunk.row(2).cause, trunk.head) == ("moved", "moved", 3)


def test_a_merge_that_a_person_judged_meanwhile_is_left_alone(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep", origin="rebase")
    overrule(trunk, 2, "discard")
    assert merge(trunk, 2, 1) is None
    assert (trunk.row(2).verdict, trunk.head, trunk.asked) == ("discard", 1, [])


def test_a_merge_that_is_given_up_waits_no_longer(trunk: Trunk) -> None:
    first, second = trunk.run(), trunk.run()
    trunk.candidate(first, 1, "keep")
    trunk.candidate(second, 1, "keep")
    trunk.judge_run(first)
    trunk.judge_run(second)
    moves.give_up_merge(trunk.store, trunk.row(3), "daemon")
    assert (trunk.row(3).verdict, trunk.row(3).cause) == ("interesting", None)
    assert unmerged(trunk.store, second) is None


def test_a_keep_that_holds_the_head_already_is_judged_as_it_stands(trunk: Trunk) -> None:
    first, second = trunk.run(), trunk.run()
    trunk.candidate(first, 1, "keep")
    trunk.candidate(second, 1, "keep")
    trunk.judge_run(first)
    trunk.judge_run(second)
    keep = moves.judge_in_place(trunk.store, trunk.row(3), trunk.row(2), "daemon")
    assert keep == trunk.row(3)
    assert (keep.verdict, keep.cause, keep.parent_id) == (None, None, 2)
    merge(trunk, 3, 2)
    assert (trunk.head, trunk.row(3).verdict) == (3, "keep")
    # The line of descent tells what comes before it, whatever the numbers say.
    overrule(trunk, 3, "discard")
    assert trunk.head == 2


# --- new scores -----------------------------------------------------------------------------------------------


def test_a_new_score_moves_the_head_back_and_forth(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    trunk.judge_run(run)
    assert again(trunk, 2, says="discard") is not None
    assert (trunk.head, trunk.row(2).verdict, trunk.row(2).on_trunk) == (1, "discard", False)
    again(trunk, 2, says="keep")
    assert (trunk.head, trunk.row(2).verdict, trunk.row(2).on_trunk) == (2, "keep", True)
    assert not trunk.row(2).judge_again
    assert trunk.notes(2) == []


def test_a_head_that_no_other_keep_stands_before_stays_a_keep_and_says_so(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    trunk.judge_run(run)
    overrule(trunk, 1, "discard")
    again(trunk, 2, says="discard")
    row = trunk.row(2)
    said = "it is a discard; it stays the head, because no other keep is left to start from"
    assert (trunk.head, row.verdict, row.on_trunk, row.reason, trunk.notes(2)) == (2, "keep", True, said, [said])
    again(trunk, 2, says="keep")
    assert (trunk.row(2).reason, len(trunk.notes(2))) == ("it is a keep", 1)


def test_a_new_score_leaves_alone_what_a_person_judged_meanwhile(trunk: Trunk) -> None:
    run = trunk.run()
    stale = trunk.candidate(run, 1, "keep")
    trunk.judge_run(run)
    stale = trunk.row(2)
    overrule(trunk, 2, "discard")
    trunk.store.execute("UPDATE candidates SET judge_again = 1 WHERE id = 2")
    with transaction(trunk.store):
        assert moves.judge_again(trunk.store, stale, trunk.row(1), trunk.keep_rule, DAEMON) is None
    row = trunk.row(2)
    assert (trunk.head, row.verdict, row.judged_by, row.judge_again) == (1, "discard", "human", False)


def test_only_what_the_keep_rule_judged_is_judged_again(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    trunk.judge_run(run)
    for number, wanted in ((1, False), (2, True)):
        moves.want_judgement(trunk.store, trunk.row(number), "human")
        assert trunk.row(number).judge_again is wanted


@pytest.mark.parametrize(("branch", "head"), [(False, 2), (True, 1)])
def test_a_keep_by_a_new_score_moves_the_head_unless_it_is_on_a_branch(
    trunk: Trunk, branch: bool, head: int
) -> None:
    run = trunk.run(branch=branch)
    trunk.candidate(run, 1, "discard")
    trunk.judge_run(run)
    again(trunk, 2, says="keep")
    assert (trunk.row(2).verdict, trunk.row(2).on_trunk, trunk.head) == ("keep", head == 2, head)


# --- people ---------------------------------------------------------------------------------------------------


def test_a_person_overrules_and_the_head_follows(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "discard")
    trunk.judge_run(run)
    moves.want_judgement(trunk.store, trunk.row(2), "human")
    overrule(trunk, 2, "keep")
    row = trunk.row(2)
    assert (row.verdict, row.rule, row.cause, row.reason) == ("keep", "override", "override", "as I say")
    assert (row.judged_by, row.judged_at, row.on_trunk, row.judge_again) == ("human", HUMAN.at, True, False)
    assert trunk.head == 2
    overrule(trunk, 2, "discard")
    assert (trunk.head, trunk.row(2).on_trunk) == (1, False)
    with pytest.raises(RefusedError, match=r"^candidate#1 is the only keep"):
        overrule(trunk, 1, "discard")
    assert (trunk.head, trunk.row(1).verdict) == (1, "keep")


def test_a_keep_that_was_made_from_another_keep_stays_on_its_branch(trunk: Trunk) -> None:
    """Without the look at what is in between, candidate 3 would become a head that holds no candidate 4."""
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    trunk.judge_run(run)
    trunk.candidate(run, 2, "discard")
    trunk.judge_run(run)
    # Candidate 2 is a keep and the head is what it was made from: both are in the line of candidate 3.
    trunk.store.execute("UPDATE projects SET head_id = 1")
    overrule(trunk, 3, "keep")
    assert (trunk.head, trunk.row(3).on_trunk) == (1, False)


def test_a_keep_of_a_branch_run_or_of_no_run_moves_nothing(trunk: Trunk) -> None:
    branch = trunk.run(branch=True)
    trunk.candidate(branch, 1, "discard")
    overrule(trunk, 2, "keep")
    trunk.candidate(branch, 1, "discard", run_id=None)
    overrule(trunk, 3, "keep")
    assert (trunk.head, trunk.row(2).on_trunk, trunk.row(3).on_trunk) == (1, False, False)


def test_a_note_makes_a_lead_of_what_was_discarded(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "discard")
    trunk.candidate(run, 2, "keep")
    trunk.judge_run(run)
    for number in (2, 3):
        moves.note(trunk.store, trunk.row(number), "simpler", "research#1")
    lead, keep = trunk.row(2), trunk.row(3)
    assert (lead.verdict, lead.cause, lead.reason, lead.judged_by) == (
        "interesting", "note", "simpler", "research#1",
    )  # fmt: skip
    assert (keep.verdict, keep.cause, keep.reason, keep.judged_by) == ("keep", None, "it is a keep", "daemon")
    assert (lead.note, keep.note) == ("simpler", "simpler")


# --- reading --------------------------------------------------------------------------------------------------


def test_a_line_of_descent_is_read_from_the_candidate_to_where_it_begins(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "keep")
    trunk.candidate(run, 2, "discard")
    trunk.judge_run(run)
    assert [one.id for one in line_of(trunk.store, trunk.row(3))] == [3, 2, 1]
    assert (bar_of(trunk.store, trunk.row(3)).id, bar_of(trunk.store, trunk.row(1)).id) == (2, 1)


def test_a_run_is_judged_by_its_commits_in_their_order_without_scaffolding(trunk: Trunk) -> None:
    run, other = trunk.run(), trunk.run()
    trunk.candidate(run, 1)
    trunk.candidate(run, 2, origin="skipped")
    trunk.candidate(run, 3)
    trunk.candidate(other, 1)
    trunk.store.execute("UPDATE run_commits SET position = 9 WHERE candidate_id = 2")
    assert [one.id for one in candidates_of(trunk.store, run)] == [4, 2]


def test_what_no_run_made_is_on_no_trunk(trunk: Trunk) -> None:
    plain, branch = trunk.run(), trunk.run(branch=True)
    trunk.candidate(plain, 1)
    trunk.candidate(branch, 1)
    assert [on_branch(trunk.store, trunk.row(number)) for number in (1, 2, 3)] == [True, False, True]


def test_a_run_without_a_keep_waits_for_no_merge(trunk: Trunk) -> None:
    run = trunk.run()
    trunk.candidate(run, 1, "discard")
    trunk.judge_run(run)
    assert unmerged(trunk.store, run) is None
