"""An evaluator whose files are not what was recorded scores nothing, and a person is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from herdr.daemon.scoring.lanes import pause_after
from herdr.ops.inbox import ListInbox
from tests.daemon.conftest import wait_until


def definition(campaign: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(campaign.value("SELECT definition FROM evaluators"))
    return found


def store_definition(campaign: Any, found: dict[str, Any]) -> None:
    campaign.store.execute("UPDATE evaluators SET definition = ?", (json.dumps(found),))


@pytest.fixture
def differing(campaign: Any) -> Any:
    """A campaign whose evaluate.py is said to have been something else when it was defined."""
    found = definition(campaign)
    campaign.recorded = found["contents"]["evaluate.py"]
    found["contents"]["evaluate.py"] = "file " + "0" * 64
    store_definition(campaign, found)
    return campaign


def test_it_gives_no_verdict_a_person_is_told_once_and_it_is_tried_again(differing: Any) -> None:
    differing.idea("Nine", "commit number=9 nine")
    differing.up()
    body = differing.wait("SELECT body FROM comments WHERE kind = 'escalation'")
    assert "evaluate.py, as checked out, is not what was recorded" in body
    told = differing.ask(ListInbox()).comments
    assert [(one.target, one.priority) for one in told] == [("candidate#2", 1)]
    faults = "SELECT count(*) FROM events WHERE kind = 'daemon.fault'"
    wait_until(lambda: differing.value(faults) >= 2, "a second try")
    assert differing.value("SELECT count(*) FROM comments WHERE kind = 'escalation'") == 1
    assert differing.value("SELECT count(*) FROM candidates WHERE verdict IS NOT NULL AND id > 1") == 0
    assert differing.value("SELECT state FROM measurements WHERE candidate_id = 2") in ("queued", "running")
    found = definition(differing)
    found["contents"]["evaluate.py"] = differing.recorded
    store_definition(differing, found)
    differing.settled()
    assert [verdict for _, verdict, _ in differing.verdicts()] == ["keep"]


def test_what_an_older_herdr_stored_is_completed(campaign: Any) -> None:
    found = definition(campaign)
    whole = dict(found)
    del found["contents"]
    store_definition(campaign, found)
    campaign.idea("Nine", "commit number=9 nine")
    campaign.up()
    campaign.settled()
    assert definition(campaign) == whole
    assert [verdict for _, verdict, _ in campaign.verdicts()] == ["keep"]


def test_tries_come_at_growing_distances() -> None:
    assert [pause_after(failures) for failures in (1, 2, 3, 9, 5000)] == [5, 10, 20, 300, 300]
