"""The orchestrator signs by its token, and nobody signs as it without."""

from __future__ import annotations

import os
from typing import Any

import pytest

from herdr.errors import RefusedError
from herdr.ops.client import connect
from herdr.ops.comment import AddComment
from herdr.ops.core import A, Request
from herdr.ops.event import ListEvents
from herdr.ops.idea.filing import AddIdea
from herdr.ops.idea.reading import ListIdeas, ShowIdea
from herdr.ops.orchestrator import MakeToken, RevokeToken
from herdr.ops.sql import RunStatement


def as_whoever(campaign: Any, token: str, request: Request[A]) -> A:
    client = connect({**os.environ, "HERDR_TOKEN": token, "PILOOP_ACTOR": "human"}, campaign.root)
    try:
        return client.ask(request)
    finally:
        client.close()


def test_a_token_makes_an_orchestrator(campaign: Any) -> None:
    token = campaign.as_human(MakeToken()).token
    as_whoever(campaign, token, AddIdea(title="Mine"))
    assert campaign.as_human(ShowIdea(idea="1")).idea.source == "orchestrator"
    stored = campaign.store.execute("SELECT hash FROM tokens").fetchall()
    assert token not in {row[0] for row in stored}
    with pytest.raises(RefusedError, match=r"orchestrator may not use orchestrator\.token"):
        as_whoever(campaign, token, MakeToken())
    events = [(e.kind, e.actor) for e in campaign.as_human(ListEvents(kind="idea"))]
    assert events == [("idea.added", "orchestrator")]


def test_a_wrong_an_old_and_a_revoked_token_are_refused(campaign: Any) -> None:
    first = campaign.as_human(MakeToken()).token
    second = campaign.as_human(MakeToken()).token
    worker = campaign.agent(campaign.run(campaign.idea()))
    assert worker.token_hash
    for token in (first, "a guess", "the token"):
        with pytest.raises(RefusedError, match="not the orchestrator's"):
            as_whoever(campaign, token, ListIdeas())
    assert as_whoever(campaign, second, ListIdeas())
    assert campaign.as_human(RevokeToken()).count == 1
    with pytest.raises(RefusedError):
        as_whoever(campaign, second, ListIdeas())
    assert [i.title for i in campaign.as_human(ListIdeas()).ideas] == ["Try it"]


def test_the_orchestrator_acknowledges_by_sql_as_itself(campaign: Any) -> None:
    token = campaign.as_human(MakeToken()).token
    campaign.as_human(AddComment(target="project", body="x", priority=1))
    as_itself, as_human = (
        RunStatement(statement=f"UPDATE comments SET acked_at = 'now', acked_by = '{who}'")
        for who in ("orchestrator", "human")
    )
    as_whoever(campaign, token, as_itself)
    with pytest.raises(RefusedError):
        as_whoever(campaign, token, as_human)
