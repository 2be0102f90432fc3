"""From comments to phases: what the acceptance cases leave open."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol import findings as say
from herdr_polyresearch.protocol.derive import derive
from herdr_polyresearch.protocol.findings import blocking

Start = Callable[..., Any]


def test_the_life_of_an_accepted_thesis(story: Start) -> None:
    s = story()
    assert s.phase == "submitted"
    assert s.approved().phase == "approved"
    assert s.claimed().phase == "claimed"
    branch = s.attempt()
    assert s.pull(50, branch).phase == "candidate_submitted"
    assert s.passed().phase == "in_review"
    assert s.decided("accepted").end(12).phase == "resolved:accepted"
    assert s.faults == []


def test_a_resolved_thesis_has_no_active_claim_but_keeps_its_holder(story: Start) -> None:
    s = story().submitted().passed().decided("accepted")
    assert s.thesis.active_claims == ()
    assert s.thesis.holder.node == "alice/n1"


def test_a_pass_is_one_of_a_commit(story: Start, existing: Any) -> None:
    s = story().submitted().passed().push("ffff1111")
    assert s.phase == "candidate_submitted"
    assert s.state.candidates[0].passed_sha == "a1b2c3d"
    s.passed(sha="ffff1111")
    assert s.phase == "in_review"
    assert s.faults == []
    # The existing reader takes the second pass for a repetition, which the lead acknowledges.
    assert existing(s).findings == [f.comment_id for f in s.state.disputed] != []


def test_an_abbreviated_commit_is_the_same_commit(story: Start) -> None:
    s = story().submitted().passed(sha="a1b2c3d").push("a1b2c3d4e5f60718293a4b5c6d7e8f9012345678")
    assert s.phase == "in_review"
    assert s.passed(sha="a1b2c3d4e5f60718293a4b5c6d7e8f9012345678").faults == [("suspicious", 5)]


def test_a_review_is_one_of_a_commit(story: Start) -> None:
    s = story().submitted().passed()
    s.review()
    s.push("ffff1111").passed(sha="ffff1111")
    assert s.state.candidates[0].current_reviews == ()
    s.review(claim=False, candidate_sha="ffff1111")
    assert [r.candidate_sha for r in s.state.candidates[0].current_reviews] == ["ffff1111"]
    assert s.faults == []


def test_an_unfinished_review_claim_expires(story: Start) -> None:
    s = story(review_timeout=timedelta(hours=1)).submitted().passed()
    s.review("carol/r")
    s.say("bob", b.ReviewClaimBlock(thesis=12, node="bob/r"), 50)

    def claims() -> list[tuple[str, bool]]:
        return [(c.node, c.expired) for c in s.state.candidates[0].review_claims]

    s.wait(hours=1)
    assert claims() == [("carol/r", False), ("bob/r", False)]
    s.wait(seconds=1)
    assert claims() == [("carol/r", False), ("bob/r", True)]


def test_a_policy_rejection_counts_without_a_pass(story: Start) -> None:
    s = story().submitted().decided("policy_rejection").end(12)
    assert s.phase == "resolved:policy_rejection"
    assert s.faults == []


@pytest.mark.parametrize("outcome", ["accepted", "non_improvement", "disagreement", "stale", "infra_failure"])
def test_any_other_decision_needs_a_pass(story: Start, outcome: str) -> None:
    s = story().submitted().decided(outcome)
    assert s.phase == "claimed"
    assert s.faults == [("invalid", 4)]


def test_a_decision_on_the_thesis_leaves_it_open(story: Start, existing: Any) -> None:
    s = story().submitted().passed()
    block = b.DecisionBlock(thesis=12, candidate_sha="a1b2c3d", outcome="stale", confirmations=2, pr=50)
    s.say("lead", block)
    s.end(50)
    assert s.phase == "claimed" == existing(s).phases[12]
    assert s.state.candidates[0].decision.outcome == "stale"
    assert s.state.candidates[0].decision.requeues
    s.release(reason="infra_failure", by="lead")
    assert s.phase == "approved" == existing(s).phases[12]
    assert s.faults == existing(s).findings == []
    assert s.claimed("bob/n2").phase == "claimed" == existing(s).phases[12]


@pytest.mark.parametrize(
    ("author", "changes"),
    [
        ("alice", {}),
        ("lead", {"thesis": 13}),
        ("lead", {"pr": 51}),
        ("lead", {"pr": None}),
        ("lead", {"outcome": "accepted"}),
    ],
)
def test_a_decision_on_the_thesis_is_the_leads_and_names_the_pull_request(
    story: Start, author: str, changes: dict[str, Any]
) -> None:
    s = story().submitted().passed()
    block = b.DecisionBlock(thesis=12, candidate_sha="a1b2c3d", outcome="stale", confirmations=2, pr=50)
    s.say(author, msgspec.structs.replace(block, **changes))
    assert s.state.candidates[0].decision is None


def test_an_expired_claim_holds_the_thesis_until_it_is_released(story: Start, existing: Any) -> None:
    s = story(assignment_timeout=timedelta(hours=4)).claimed().wait(hours=5)
    assert s.phase == "approved"
    assert s.thesis.holder.node == "alice/n1"
    late = s.say("bob", b.ClaimBlock(thesis=12, node="bob/n2"))
    assert s.faults == [("invalid", late)]
    s.release(reason="timeout", by="lead").claimed("carol/n3")
    assert (s.phase, s.thesis.active_claims[0].node) == ("claimed", "carol/n3")
    assert (existing(s).phases[12], existing(s).claims[12]) == ("claimed", "carol/n3")


def test_of_two_claims_in_one_second_the_lower_id_wins(story: Start) -> None:
    s = story().approved()
    second = s.say("bob", b.ClaimBlock(thesis=12, node="bob/n2"))
    s.now -= timedelta(minutes=1)
    third = s.say("alice", b.ClaimBlock(thesis=12, node="alice/n1"))
    assert third > second
    assert s.thesis.active_claims[0].node == "bob/n2"
    # Whatever order the forge lists them in.
    s.comments[12] = tuple(reversed(s.comments[12]))
    assert s.thesis.active_claims[0].node == "bob/n2"
    assert [f.lost_race for f in s.state.findings] == [True]


def test_an_acknowledged_finding_is_gone_and_its_event_stays_invalid(story: Start) -> None:
    s = story().claimed()
    lost = s.say("bob", b.ClaimBlock(thesis=12, node="bob/n2"))
    note = b.AdminNoteBlock(
        action="acknowledge_invalid", target="issue #12", note="race", related_comment_id=lost
    )
    s.say("lead", note, 50)
    assert s.faults == [("invalid", lost)], "an acknowledgement counts on the thread of its comment only"
    s.say("lead", note)
    assert s.faults == []
    assert s.thesis.active_claims[0].node == "alice/n1"


def test_an_attempt_that_the_lead_takes_back_is_gone(story: Start) -> None:
    s = story().claimed()
    branch = s.attempt()
    posted = s.comments[12][-1].id
    s.say(
        "lead",
        b.AdminNoteBlock(
            action="acknowledge_invalid", target="issue #12", note="wrong", related_comment_id=posted
        ),
    )
    assert s.thesis.attempts == ()
    assert s.state.withdrawn == {branch}


def test_every_rule_of_the_issue_thread_has_its_finding(story: Start) -> None:
    s = story()
    expected = []

    def wrong(fault: say.Fault, author: str, block: b.Block | str) -> None:
        expected.append((s.say(author, block), fault.severity, fault.message))

    attempt = b.AttemptBlock(
        thesis=12, branch="thesis/12-a", metric=1, baseline_metric=1, observation="improved", summary=""
    )
    claim = b.ClaimBlock(thesis=12, node="alice/n1")
    release = b.ReleaseBlock(thesis=12, node="alice/n1", reason="timeout")
    wrong(say.SLASH, "alice", "/approve")
    wrong(say.ADMIN_NOTE, "alice", b.AdminNoteBlock(action="x", target="y", note="z"))
    wrong(say.APPROVAL_NUMBER, "lead", b.ApprovalBlock(thesis=13))
    wrong(say.APPROVAL_ACTOR, "boss", b.ApprovalBlock(thesis=12))
    wrong(say.CLAIM_UNAPPROVED, "alice", claim)
    wrong(say.ATTEMPT_UNAPPROVED, "alice", attempt)
    s.approved()
    wrong(say.APPROVAL_AGAIN, "lead", b.ApprovalBlock(thesis=12))
    wrong(say.CLAIM_NUMBER, "alice", b.ClaimBlock(thesis=13, node="alice/n1"))
    wrong(say.ATTEMPT_UNCLAIMED, "alice", attempt)
    wrong(say.RELEASE_NODE, "alice", release)
    s.say("alice", claim)
    wrong(say.CLAIM_HELD, "bob", b.ClaimBlock(thesis=12, node="bob/n2"))
    wrong(say.RELEASE_NUMBER, "alice", b.ReleaseBlock(thesis=13, node="alice/n1", reason="timeout"))
    wrong(say.RELEASE_NODE, "bob", b.ReleaseBlock(thesis=12, node="bob/n2", reason="timeout"))
    wrong(say.RELEASE_ACTOR, "bob", release)
    wrong(say.ATTEMPT_NUMBER, "alice", msgspec.structs.replace(attempt, thesis=13))
    wrong(say.ATTEMPT_ACTOR, "bob", attempt)
    wrong(say.ATTEMPT_BRANCH, "alice", msgspec.structs.replace(attempt, branch="thesis/12"))
    s.say("alice", attempt)
    wrong(say.ATTEMPT_AGAIN, "alice", attempt)
    s.say("alice", release)
    s.end(12)
    wrong(say.CLAIM_LATE, "alice", claim)
    wrong(say.ATTEMPT_LATE, "alice", attempt)
    assert [(f.comment_id, f.severity, f.message) for f in s.state.findings] == expected


def test_every_rule_of_the_pull_request_has_its_finding(story: Start) -> None:
    s = story().submitted()
    expected = []
    review = b.ReviewBlock(
        thesis=12,
        candidate_sha="a1b2c3d",
        base_sha="c0d1e2f",
        node="bob/r",
        metric=1,
        baseline_metric=1,
        observation="improved",
        env_sha=None,
        timestamp="2026-04-10T14:30:00Z",
    )
    claim = b.ReviewClaimBlock(thesis=12, node="bob/r")
    passed = b.PolicyPassBlock(thesis=12, candidate_sha="a1b2c3d")
    decision = b.DecisionBlock(thesis=12, candidate_sha="a1b2c3d", outcome="accepted", confirmations=0)

    def wrong(fault: say.Fault, author: str, block: b.Block | str) -> None:
        expected.append((s.say(author, block, 50), fault.severity, fault.message))

    wrong(say.SLASH, "lead", "/reject")
    wrong(say.PASS_ACTOR, "alice", passed)
    wrong(say.PASS_NUMBER, "lead", msgspec.structs.replace(passed, thesis=13))
    wrong(say.DECISION_ACTOR, "alice", decision)
    wrong(say.DECISION_UNPASSED, "lead", decision)
    s.passed()
    wrong(say.PASS_AGAIN, "lead", passed)
    wrong(say.REVIEW_CLAIM_OWN, "alice", claim)
    wrong(say.REVIEW_OWN, "alice", review)
    wrong(say.REVIEW_UNCLAIMED, "bob", review)
    s.say("bob", claim, 50)
    wrong(say.REVIEW_CLAIM_AGAIN, "bob", claim)
    wrong(say.REVIEW_ACTOR, "carol", review)
    s.say("bob", review, 50)
    wrong(say.REVIEW_AGAIN, "bob", review)
    s.say("lead", decision, 50)
    wrong(say.DECISION_AGAIN, "lead", decision)
    wrong(say.PASS_LATE, "lead", passed)
    wrong(say.REVIEW_CLAIM_LATE, "bob", claim)
    wrong(say.REVIEW_LATE, "bob", review)
    assert [(f.comment_id, f.severity, f.message) for f in s.state.findings] == expected


def test_events_of_a_pull_request_mean_nothing_on_the_thesis(story: Start) -> None:
    s = story().claimed()
    s.say("mallory", b.PolicyPassBlock(thesis=12, candidate_sha="x"))
    s.say("mallory", b.ReviewClaimBlock(thesis=12, node="m"))
    assert (s.phase, s.faults) == ("claimed", [])


def test_annotations_change_no_state_and_are_kept(story: Start) -> None:
    s = story().claimed()
    before = s.phase
    s.say("mallory", b.AnnotationBlock(thesis=12, node="m/1", text="It regressed."))
    assert (s.phase, s.faults) == (before, [])
    assert [note.text for note in s.thesis.notes] == ["It regressed."]


def test_a_slash_command_on_any_pull_request_is_seen(story: Start) -> None:
    s = story().pull(60, "fix-typo", author="carol")
    posted = s.say("carol", "/approve", 60)
    assert s.faults == [("invalid", posted)]
    assert s.state.candidates[0].thesis is None


def test_an_outsider_cannot_block_the_lead(story: Start) -> None:
    s = story().claimed()
    s.say("mallory", "/approve")
    assert len(s.state.findings) == 1
    assert blocking(s.state) == ()
    s.say("mallory", b.ClaimBlock(thesis=12, node="m"))
    assert len(blocking(s.state)) == 1, "who may push is not known here"
    s.collaborators = frozenset({"lead", "alice", "bob"})
    assert blocking(s.state) == ()
    s.say("bob", b.ClaimBlock(thesis=12, node="bob/n2"))
    assert [f.author for f in blocking(s.state)] == ["bob"]


def test_an_issue_without_the_label_is_no_thesis(story: Start) -> None:
    s = story().approved()
    s.issues[12] = msgspec.structs.replace(s.issues[12], labels=("bug",))
    assert s.state.theses == ()


def test_more_than_a_hundred_comments_count(story: Start) -> None:
    s = story().approved()
    for _ in range(150):
        s.say("carol", "just talking")
    assert s.claimed().phase == "claimed"


def test_a_reopened_issue_takes_claims_again(story: Start) -> None:
    s = story().approved().end(12)
    s.wait(hours=1)
    s.issues[12] = msgspec.structs.replace(s.issues[12], state="open")
    assert s.claimed().phase == "claimed"


def test_time_is_what_the_caller_says(story: Start) -> None:
    s = story().claimed()
    later = s.now + timedelta(hours=25)
    assert derive(s.snapshot, s.program, later).theses[0].phase == "approved"
    assert derive(s.snapshot, s.program, s.now).theses[0].phase == "claimed"
