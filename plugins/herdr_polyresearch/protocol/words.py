"""The closed vocabularies of the protocol."""

from __future__ import annotations

from typing import Literal, get_args

Observation = Literal["improved", "no_improvement", "crashed", "infra_failure"]
Reason = Literal["no_improvement", "timeout", "infra_failure"]
Outcome = Literal["accepted", "non_improvement", "disagreement", "stale", "policy_rejection", "infra_failure"]
Direction = Literal["higher_is_better", "lower_is_better"]

OBSERVATIONS: tuple[Observation, ...] = get_args(Observation)
REASONS: tuple[Reason, ...] = get_args(Reason)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

REQUEUES: frozenset[str] = frozenset({"stale", "infra_failure"})
"""Outcomes that say nothing about the hypothesis: the thesis returns to the queue."""

FAILED: frozenset[str] = frozenset({"crashed", "infra_failure"})
"""Observations without a measured value."""


def keeps_thesis(outcome: Outcome, confirmations: int) -> bool:
    """Whether an outcome leaves the thesis open: for the queue, or without reviews for a fresh attempt.

    Args:
        outcome: what was decided.
        confirmations: how many reviews it rests on; 0 where none are required.
    """
    return outcome in REQUEUES or (outcome == "non_improvement" and confirmations == 0)
