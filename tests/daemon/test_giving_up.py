"""What cannot go on is given up: once, with the reason, and as what a person or the daemon's end says it is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from herdr.daemon.runs.run_loop import give_up
from herdr.store.rows import Comment, Idea, Run, fetch, get

from .simulated import Simulated, make_database

REASON = "tmux cannot be found"


@pytest.fixture
def under_way(tmp_path: Path) -> Iterator[Simulated]:
    """A campaign with one run, whose agent is at work."""
    (tmp_path / "made").mkdir()
    campaign = Simulated(make_database(tmp_path / "made"), tmp_path / "home")
    Idea.insert(campaign.person, project_id=1, title="Try it", source="human", actor="human")
    campaign.look()
    campaign.launch(1)
    yield campaign
    campaign.close()


def escalations(campaign: Simulated) -> list[str]:
    return [one.body for one in fetch(campaign.person, Comment, "WHERE kind = 'escalation'")]


def test_a_run_that_cannot_go_on_fails_with_the_reason(under_way: Simulated) -> None:
    anyio.run(give_up, under_way.app, under_way.fleet, 1, REASON)
    run = get(under_way.person, Run, 1)
    assert (run.state, run.end_cause, run.settled_at) == ("failed", "ending_failed", None)
    assert REASON in (run.end_detail or "")
    assert not under_way.open_agents()
    (body,) = escalations(under_way)
    assert REASON in body
    assert "piloop run requeue run#1" in body


def test_a_cancel_wins(under_way: Simulated) -> None:
    Run.update(under_way.person, 1, cancel_requested=True, actor="human")
    anyio.run(give_up, under_way.app, under_way.fleet, 1, REASON)
    run = get(under_way.person, Run, 1)
    assert (run.state, run.end_cause, run.counts) == ("cancelled", "cancelled", False)
    assert not escalations(under_way)


def test_a_daemon_that_ends_its_agents_gives_the_run_back(under_way: Simulated) -> None:
    under_way.app.ending = True
    anyio.run(give_up, under_way.app, under_way.fleet, 1, REASON)
    assert get(under_way.person, Run, 1).state == "queued"
    assert not under_way.open_agents()


def test_what_cannot_be_judged_is_settled_and_what_was_decided_stays(under_way: Simulated) -> None:
    under_way.end(1, "cancelled")
    anyio.run(give_up, under_way.app, under_way.fleet, 1, REASON)
    run = get(under_way.person, Run, 1)
    assert (run.state, run.end_cause) == ("cancelled", "cancelled")
    assert run.settled_at is not None
    assert get(under_way.person, Idea, run.idea_id).status == "parked"
    anyio.run(give_up, under_way.app, under_way.fleet, 1, REASON)
    assert len(escalations(under_way)) == 1
