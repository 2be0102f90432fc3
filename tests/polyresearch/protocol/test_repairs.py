"""What the lead's sync puts right, so that our nodes and those on the existing tool see one project."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.repairs import repairs

Start = Callable[..., Any]


def repair(s: Any) -> Any:
    for found in repairs(s.state):
        s.say("lead", found.block, found.thread)
    assert repairs(s.state) == (), "a repair is made once"
    return s


def test_an_expired_claim_is_released_as_a_timeout(story: Start, existing: Any) -> None:
    s = story(assignment_timeout=timedelta(hours=1)).claimed().wait(hours=2)
    assert repair(s).thesis.releases[0].reason == "timeout"
    assert s.claimed("bob/n2").phase == existing(s).phases[12] == "claimed"
    assert s.faults == existing(s).findings == []


def test_a_live_claim_is_left_alone(story: Start) -> None:
    assert repairs(story().claimed().state) == ()


def test_the_claim_of_an_accepted_thesis_is_left_alone(story: Start) -> None:
    s = story().submitted().passed().decided("accepted").wait(hours=48)
    assert repairs(s.state) == ()


def test_the_claim_that_follows_a_requeued_candidate_is_left_alone(story: Start) -> None:
    s = story().submitted().passed()
    s.say("lead", b.DecisionBlock(thesis=12, candidate_sha="a", outcome="stale", confirmations=1, pr=50))
    s.end(50)
    assert [r.reason for r in repair(s).thesis.releases] == ["infra_failure"]
    s.claimed("bob/n2")
    assert repairs(s.state) == ()


def test_losers_of_a_race_are_acknowledged(story: Start, existing: Any) -> None:
    s = story().approved()
    for name in ("alice", "bob", "carol", "dave"):
        s.say(name, b.ClaimBlock(thesis=12, node=f"{name}/n"))
    assert len(s.faults) == 3
    repair(s)
    assert s.faults == existing(s).findings == []
    assert s.thesis.active_claims[0].node == existing(s).claims[12] == "alice/n"


def test_other_findings_are_for_a_person(story: Start) -> None:
    s = story()
    s.say("alice", b.ClaimBlock(thesis=12, node="alice/n1"))
    assert repairs(s.state) == ()


def test_a_policy_rejection_is_clean_for_every_node(story: Start, existing: Any) -> None:
    s = story().submitted().decided("policy_rejection").end(12)
    assert existing(s).findings
    repair(s)
    assert s.faults == existing(s).findings == []
    assert (s.phase, s.thesis.holder, existing(s).claims[12]) == ("resolved:policy_rejection", None, None)


def test_a_second_pass_and_a_second_review_are_clean_for_every_node(story: Start, existing: Any) -> None:
    s = story().submitted().passed()
    s.review()
    s.push("ffff1111").passed(sha="ffff1111")
    s.review(claim=False, candidate_sha="ffff1111")
    assert len(existing(s).findings) == 2
    repair(s)
    assert s.faults == existing(s).findings == []
    assert s.phase == existing(s).phases[12] == "in_review"


def test_both_readers_see_the_same_through_a_whole_life(story: Start, existing: Any) -> None:
    s = story(required_confirmations=1)

    def agree() -> None:
        repair(s)
        assert (s.phase, s.faults) == (existing(s).phases[12], existing(s).findings)

    agree()
    agree() if s.approved() else None
    s.claimed()
    agree()
    s.say("bob", b.ClaimBlock(thesis=12, node="bob/n2"))
    agree()
    s.attempt()
    agree()
    s.pull()
    agree()
    s.passed()
    agree()
    s.review()
    agree()
    s.decided("disagreement", confirmations=1).end(12)
    agree()
