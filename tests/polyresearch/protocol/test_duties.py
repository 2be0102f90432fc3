"""Duties and the queue: what blocks whom, and what may be claimed or added."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.duties import Duties, duties
from herdr_polyresearch.protocol.ledger import Ledger, missing_rows
from herdr_polyresearch.protocol.queue import claim_refusal, duplicate, open_to, queue_depth, room

Start = Callable[..., Any]


def due(s: Any, login: str = "alice", node: str | None = "alice/n1") -> Duties:
    return duties(s.state, s.program, Ledger(), login, node)


def categories(s: Any, login: str = "alice", node: str | None = "alice/n1") -> tuple[list[str], list[str]]:
    found = due(s, login, node)
    return [d.category for d in found.blocking], [d.category for d in found.advisory]


def test_a_claim_without_attempts_blocks_until_one_is_posted(story: Start) -> None:
    s = story().claimed()
    assert categories(s) == (["claim"], ["idle"])
    assert categories(s, "bob", "bob/n2") == ([], ["idle"])
    s.attempt(observation="no_improvement")
    assert categories(s) == ([], ["idle"])


def test_attempts_of_an_earlier_claim_do_not_count(story: Start) -> None:
    s = story().claimed()
    s.attempt(observation="no_improvement")
    s.release(reason="timeout").claimed()
    assert categories(s)[0] == ["claim"]


def test_an_improved_attempt_blocks_until_it_is_submitted_or_released(story: Start) -> None:
    s = story().claimed()
    s.attempt()
    assert categories(s)[0] == ["submit"]
    assert categories(s.pull())[0] == []
    s = story().claimed()
    s.attempt()
    assert categories(s.release())[0] == []


def test_what_was_decided_is_not_submitted_again(story: Start) -> None:
    s = story().submitted(1.001).passed()
    block = b.DecisionBlock(thesis=12, candidate_sha="a", outcome="non_improvement", confirmations=0, pr=50)
    s.say("lead", block)
    s.end(50)
    assert categories(s)[0] == []
    s.attempt(1.9)
    assert categories(s)[0] == ["submit"]


def test_the_lead_checks_then_decides(story: Start) -> None:
    s = story(required_confirmations=1, min_queue_depth=0).submitted()
    assert categories(s, "lead", "lead/l")[0] == ["policy-check"]
    s.passed()
    assert categories(s, "lead", "lead/l") == ([], ["review"])
    s.review()
    assert categories(s, "lead", "lead/l")[0] == ["decide"]
    s.push("ffff1111")
    assert categories(s, "lead", "lead/l")[0] == ["policy-check"]


def test_the_gate_waits_for_the_maintainer(story: Start) -> None:
    s = story(auto_approve=False, min_queue_depth=0)
    assert categories(s, "lead", "lead/l") == ([], ["maintainer-approval"])
    s.say("boss", "/approve")
    s.submitted().passed()
    assert categories(s, "lead", "lead/l") == ([], ["maintainer-approval", "review"])
    s.say("boss", "/approve", 50)
    assert categories(s, "lead", "lead/l")[0] == ["decide"]


def test_the_leads_duties_do_not_block_a_contributor_who_shares_the_login(story: Start) -> None:
    s = story().submitted()
    found = due(s, "lead", "lead/worker-1")
    assert [d.category for d in found.blocking_for("lead")] == ["policy-check"]
    assert found.blocking_for("contributor") == ()


def test_pull_requests_of_no_thesis_are_nobodys_duty(story: Start) -> None:
    s = story(min_queue_depth=0).pull(60, "fix-typo").pull(61, "thesis/99-gone")
    assert categories(s, "lead", "lead/l") == ([], [])
    assert due(s, "lead", "lead/l").clean


def test_a_strangers_pull_request_stops_nobody(story: Start, existing: Any) -> None:
    s = story(min_queue_depth=0).approved().pull(60, "thesis/12-evil", author="eve")
    assert categories(s, "lead", "lead/l") == ([], ["stranger"])
    assert s.passed(60).phase == "approved"
    assert categories(s, "lead", "lead/l") == ([], ["stranger"])
    assert categories(s, "carol", "carol/n") == ([], []), "nobody is asked to review it"
    s.claimed()
    s.attempt()
    assert categories(s)[0] == ["submit"], "it does not stand for the attempt of the node that works on it"
    assert s.phase == "claimed"
    assert s.pull().passed().phase == "in_review"
    s.end(60)
    assert s.phase == existing(s).phases[12]
    assert s.faults == existing(s).findings == []


def test_a_pull_request_with_the_name_of_somebody_elses_branch_is_a_strangers(story: Start) -> None:
    s = story(min_queue_depth=0).submitted().pull(60, author="eve")
    assert categories(s, "lead", "lead/l") == (["policy-check"], ["stranger"])
    s = story().claimed()
    branch = s.attempt()
    s.pull(60, branch, author="eve").end(12)
    assert [row.status for row in missing_rows(s.state, Ledger())] == ["discarded"]
    s = story().submitted().passed().pull(60, author="eve").decided("accepted")
    assert [row.status for row in missing_rows(s.state, Ledger())] == ["accepted"]


def test_what_its_author_left_undone_does_not_stop_the_lead(story: Start) -> None:
    s = story(min_queue_depth=0).claimed().pull().passed()
    assert s.phase == "in_review"
    found = due(s, "lead", "lead/l")
    assert not found.blocking
    assert "recorded no attempt" in found.advisory[0].message
    s = story(min_queue_depth=0).submitted(commit="a1b2c3d").passed()
    assert categories(s, "lead", "lead/l")[0] == ["decide"]
    s.push("ffff1111").passed(sha="ffff1111")
    found = due(s, "lead", "lead/l")
    assert not found.blocking
    assert "not the one that its attempt measured" in found.advisory[0].message


def test_a_review_is_offered_again_once_its_claim_expired(story: Start) -> None:
    s = story(review_timeout=timedelta(hours=1)).submitted().passed()
    s.say("bob", b.ReviewClaimBlock(thesis=12, node="bob/r"), 50)
    assert categories(s, "bob", "bob/r")[1] == ["idle"]
    assert categories(s, "carol", "carol/r")[1] == ["review"]
    assert categories(s.wait(hours=2), "bob", "bob/r")[1] == ["review"]


def test_every_duty_says_what_to_do(story: Start) -> None:
    s = story().submitted()
    found = due(s, "lead", "lead/l")
    assert all(duty.message for duty in (*found.blocking, *found.advisory))
    assert all(duty.command for duty in found.blocking)


@pytest.mark.parametrize(
    ("minimum", "maximum", "expected"), [(5, None, 4), (1, None, 0), (5, 3, 2), (5, 1, 0), (0, None, 0)]
)
def test_generate_fills_the_queue_to_its_minimum(
    story: Start, minimum: int, maximum: int | None, expected: int
) -> None:
    s = story(min_queue_depth=minimum, max_queue_depth=maximum).approved()
    assert queue_depth(s.state, s.program) == 1
    assert room(s.state, s.program) == expected


def test_theses_that_wait_for_the_maintainer_fill_the_queue(story: Start) -> None:
    s = story(auto_approve=False)
    assert queue_depth(s.state, s.program) == 1
    s.say("boss", "/reject")
    assert queue_depth(s.state, s.program) == 0


@pytest.mark.parametrize("title", ["RMSNorm", "rmsnorm!", "  _RMSnorm_: "])
def test_the_same_words_are_the_same_thesis_open_or_closed(story: Start, title: str) -> None:
    s = story()
    for state in (s.state, s.end(12).state):
        known = duplicate(title, state.theses)
        assert known is not None
        assert known.number == 12
    assert duplicate(f"{title} on embeddings", s.state.theses) is None
    s.issue(14, "Replace A with B")
    assert duplicate("replace B with A", s.state.theses) is None, "which is another hypothesis"
    assert duplicate("???", s.issue(13, "!!!").state.theses) is None


def test_what_cannot_be_claimed_says_why(story: Start) -> None:
    s = story()
    assert claim_refusal(None, 99) == "thesis #99 not found"
    assert claim_refusal(s.thesis, 12) == "thesis #12 is not approved yet"
    assert claim_refusal(s.approved().thesis, 12) is None
    assert claim_refusal(s.claimed().thesis, 12) == "thesis #12 is not claimable: it is claimed by alice/n1"
    assert claim_refusal(s.release().thesis, 12) == "thesis #12 is not claimable: it is exhausted"
    assert claim_refusal(s.end(12).thesis, 12) == "thesis #12 is not open"


def test_a_node_is_offered_what_it_did_not_give_up_and_nobody_holds(story: Start) -> None:
    s = story(assignment_timeout=timedelta(hours=1)).claimed().release(reason="infra_failure")
    s.issue(13, "second")
    s.say("lead", b.ApprovalBlock(thesis=13), 13)
    offered = [t.number for t in open_to(s.state, "alice/n1")]
    assert offered == [13]
    assert [t.number for t in open_to(s.state, "bob/n2")] == [12, 13]
    s.say("carol", b.ClaimBlock(thesis=13, node="carol/n"), 13)
    s.wait(hours=2)
    assert [t.number for t in open_to(s.state, "bob/n2")] == [12], "the expired claim is to be released first"
