"""The orchestrator signs by its token, and nobody signs as it without."""

from __future__ import annotations

import os
from typing import Any

import pytest

from herdr.errors import RefusedError
from herdr.ops.client import connect


def as_whoever(campaign: Any, token: str, name: str, **arguments: object) -> Any:
    client = connect({**os.environ, "HERDR_TOKEN": token, "PILOOP_ACTOR": "human"}, campaign.root)
    try:
        return client.call(name, **arguments)
    finally:
        client.close()


def test_a_token_makes_an_orchestrator(campaign: Any) -> None:
    token = campaign.as_human("orchestrator.token")["token"]
    as_whoever(campaign, token, "idea.add", title="Mine")
    assert campaign.as_human("idea.show", idea="1")["idea"]["source"] == "orchestrator"
    stored = campaign.store.execute("SELECT hash FROM tokens").fetchall()
    assert token not in {row[0] for row in stored}
    with pytest.raises(RefusedError, match=r"orchestrator may not use orchestrator\.token"):
        as_whoever(campaign, token, "orchestrator.token")
    events = [(e["kind"], e["actor"]) for e in campaign.as_human("event.list", kind="idea")]
    assert events == [("idea.added", "orchestrator")]


def test_a_wrong_an_old_and_a_revoked_token_are_refused(campaign: Any) -> None:
    first = campaign.as_human("orchestrator.token")["token"]
    second = campaign.as_human("orchestrator.token")["token"]
    worker = campaign.agent(campaign.run(campaign.idea()))
    assert worker.token_hash
    for token in (first, "a guess", "the token"):
        with pytest.raises(RefusedError, match="not the orchestrator's"):
            as_whoever(campaign, token, "idea.list")
    assert as_whoever(campaign, second, "idea.list")
    assert campaign.as_human("orchestrator.revoke")["count"] == 1
    with pytest.raises(RefusedError):
        as_whoever(campaign, second, "idea.list")
    assert [i["title"] for i in campaign.as_human("idea.list")["ideas"]] == ["Try it"]


def test_the_orchestrator_acknowledges_by_sql_as_itself(campaign: Any) -> None:
    token = campaign.as_human("orchestrator.token")["token"]
    campaign.as_human("comment.add", target="project", body="x", priority=1)
    as_whoever(
        campaign, token, "sql.run", statement="UPDATE comments SET acked_at = 'now', acked_by = 'orchestrator'"
    )
    with pytest.raises(RefusedError):
        as_whoever(
            campaign, token, "sql.run", statement="UPDATE comments SET acked_at = 'now', acked_by = 'human'"
        )
