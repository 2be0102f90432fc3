"""The score of a candidate is the finished one under the project's present evaluator."""

from __future__ import annotations

import pytest

from herdr.contract.words import MeasurementState
from herdr.store.connection import transaction
from herdr.store.rows import Evaluator, Measurement, Project, fetch, get
from herdr.trunk.scores import score_of, scoring_of, want_score

from .conftest import Trunk


@pytest.fixture
def scored(trunk: Trunk) -> Trunk:
    """The project with evaluators 1 and 2, of which 2 is the present one."""
    for key in ("old", "new"):
        Evaluator.insert(trunk.store, project_id=1, key=key, commit_sha="c1", definition="{}", actor="human")
    Project.update(trunk.store, 1, evaluator_id=2, actor="human")
    return trunk


def measure(trunk: Trunk, evaluator: int, state: MeasurementState) -> int:
    return Measurement.insert(
        trunk.store, candidate_id=1, evaluator_id=evaluator, state=state, metrics='{"size": 1}', actor="daemon"
    )


@pytest.mark.parametrize(("state", "is_score"), [("queued", False), ("running", False), ("done", True)])
def test_only_a_finished_scoring_is_a_score(scored: Trunk, state: MeasurementState, is_score: bool) -> None:
    number, project = measure(scored, 2, state), get(scored.store, Project, 1)
    found, score = scoring_of(scored.store, project, 1), score_of(scored.store, project, 1)
    assert found is not None
    assert found.id == number
    assert (score is not None) == is_score
    assert score is None or score.id == number


def test_what_another_evaluator_says_is_none(scored: Trunk) -> None:
    measure(scored, 1, "done")
    project = get(scored.store, Project, 1)
    assert scoring_of(scored.store, project, 1) is None
    assert score_of(scored.store, project, 1) is None


def test_a_score_is_asked_for_once(scored: Trunk) -> None:
    project = get(scored.store, Project, 1)
    for _ in range(2):
        with transaction(scored.store):
            want_score(scored.store, project, 1, "daemon")
    (row,) = fetch(scored.store, Measurement)
    assert (row.candidate_id, row.evaluator_id, row.state) == (1, 2, "queued")
