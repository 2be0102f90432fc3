"""The score that a candidate has, or is to get, under the project's present evaluator."""

from __future__ import annotations

from herdr.store.connection import Store
from herdr.store.queries import score_under
from herdr.store.rows import Measurement, Project


def score_of(store: Store, project: Project, candidate_id: int) -> Measurement | None:
    """The finished score of a candidate, or None.

    Args:
        store: an open store.
        project: says which evaluator is the present one.
        candidate_id: the candidate.
    """
    found = scoring_of(store, project, candidate_id)
    return found if found is not None and found.state == "done" else None


def scoring_of(store: Store, project: Project, candidate_id: int) -> Measurement | None:
    """The scoring of a candidate, whether it is queued, running or done, or None.

    Args:
        store: an open store.
        project: says which evaluator is the present one.
        candidate_id: the candidate.
    """
    return score_under(store, candidate_id, project.evaluator_id)


def want_score(store: Store, project: Project, candidate_id: int, actor: str) -> None:
    """Queue the scoring of a candidate, unless it is queued or done.

    Args:
        store: inside a transaction.
        project: says which evaluator is the present one.
        candidate_id: the candidate.
        actor: who asks for it.
    """
    assert project.evaluator_id is not None
    if scoring_of(store, project, candidate_id) is None:
        Measurement.insert(store, candidate_id=candidate_id, evaluator_id=project.evaluator_id, actor=actor)
