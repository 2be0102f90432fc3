"""Pace, audit and guidance."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.audit import audit
from herdr_polyresearch.protocol.guidance import read_guidance
from herdr_polyresearch.protocol.ledger import Ledger
from herdr_polyresearch.protocol.pace import throughput

Start = Callable[..., Any]


def test_pace_counts_what_the_node_did(story: Start) -> None:
    s = story().claimed()
    s.attempt()
    s.wait(hours=2)
    s.attempt()
    s.wait(minutes=7, seconds=59)
    found = throughput(s.state, "alice/n1")
    assert (found.active_claims, found.attempts_last_hour, found.attempts_last_4_hours) == (1, 1, 2)
    assert (found.idle_minutes, found.claimable_theses) == (7, 0)
    other = throughput(s.state, "bob/n2")
    assert (other.active_claims, other.attempts_last_4_hours, other.idle_minutes) == (0, 0, None)


def test_reviewing_and_releasing_are_activity(story: Start) -> None:
    s = story().submitted().passed()
    s.review()
    assert throughput(s.state, "bob/r").idle_minutes == 0
    s.wait(hours=1).release(reason="timeout")
    assert throughput(s.state, "alice/n1").idle_minutes == 0
    assert throughput(s.state, "bob/r").idle_minutes == 61


def test_a_clean_audit(story: Start) -> None:
    s = story().claimed()
    found = audit(s.snapshot, s.state, Ledger())
    assert found.clean
    assert found.findings == ()


def test_a_stale_ledger_is_a_finding_and_keeps_the_lead(story: Start) -> None:
    s = story().claimed()
    s.attempt(observation="crashed")
    found = audit(s.snapshot, s.state, Ledger())
    assert not found.clean
    assert [(f.scope, f.severity, f.comment_id) for f in found.findings] == [("repository", "invalid", None)]
    assert found.count("invalid") == 1


def test_edited_and_deleted_events_are_shown_and_block_nobody(story: Start) -> None:
    s = story().claimed()
    s.say("carol", "just talking")
    approval, claim, talk = s.comments[12]
    edited = msgspec.structs.replace(claim, updated_at=claim.created_at + timedelta(seconds=1))
    spoken = msgspec.structs.replace(talk, updated_at=talk.created_at + timedelta(hours=1))
    s.comments[12] = (approval, edited, spoken)
    snapshot = msgspec.structs.replace(s.snapshot, deleted=(approval, talk))
    found = audit(snapshot, s.state, Ledger())
    assert (found.edited, found.deleted) == ((edited,), (approval,))
    assert found.clean


def test_guidance_is_one_read(story: Start) -> None:
    s = story()
    s.say("boss", "/approve more norms")
    s.submitted(1.005)
    s.say("boss", "/reject too slow", 50)
    s.say("mallory", "/approve everything of mine")
    s.say("bob", b.AnnotationBlock(thesis=12, node="bob/n", text="Retrieval regressed."))
    s.attempt(0.5, observation="no_improvement")
    s.attempt(1.002, observation="no_improvement")
    s.end(12)
    found = read_guidance(s.state, s.program)
    assert [(g.scope, g.number, g.reason) for g in found.approvals] == [("issue", 12, "more norms")]
    assert [(g.scope, g.number, g.reason) for g in found.rejections] == [("pull_request", 50, "too slow")]
    assert [(r.thesis, r.closed, r.note.text) for r in found.remarks] == [(12, True, "Retrieval regressed.")]
    assert [(m.attempt.metric, m.gain) for m in found.near_misses] == [(1.005, 0.005), (1.002, 0.002)]


def test_an_accepted_attempt_is_no_near_miss(story: Start) -> None:
    s = story().submitted().passed().decided("accepted")
    assert read_guidance(s.state, s.program).near_misses == ()
