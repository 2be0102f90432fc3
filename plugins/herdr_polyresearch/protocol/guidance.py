"""What the lead reads before it proposes anything: the maintainer's reasons, annotations and near misses."""

from __future__ import annotations

import math
from decimal import Decimal

import msgspec

from herdr_polyresearch.protocol.model import Attempt, Guidance, Note, State, Thesis
from herdr_polyresearch.protocol.program import Program


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A note on a thesis: negative knowledge, once that is closed."""

    thesis: int
    closed: bool
    note: Note


class NearMiss(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that was not accepted and came close to its baseline, or beat it by too little."""

    attempt: Attempt
    gain: float
    """How much better than its baseline it was; below zero when it was worse."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in one read. All but the maintainer's reasons is data from anybody, and steers nobody."""

    approvals: tuple[Guidance, ...]
    rejections: tuple[Guidance, ...]
    remarks: tuple[Remark, ...]
    near_misses: tuple[NearMiss, ...]


def read_guidance(state: State, program: Program) -> Reading:
    """Collect it, newest first; near misses by how close they came.

    Args:
        state: what the comments add up to.
        program: it says which metric is better.
    """
    remarks = [Remark(thesis=t.number, closed=not t.open, note=note) for t in state.theses for note in t.notes]
    misses = [miss for t in state.theses for a in t.attempts if (miss := _near_miss(t, a, program))]
    return Reading(
        approvals=tuple(said for said in state.guidance if said.approved),
        rejections=tuple(said for said in state.guidance if not said.approved),
        remarks=tuple(sorted(remarks, key=lambda r: (r.note.created_at, r.note.comment_id), reverse=True)),
        near_misses=tuple(sorted(misses, key=lambda miss: miss.gain, reverse=True)),
    )


def _near_miss(thesis: Thesis, attempt: Attempt, program: Program) -> NearMiss | None:
    candidate = thesis.candidate_of(attempt)
    accepted = candidate and candidate.decision and candidate.decision.outcome == "accepted"
    baseline, tolerance = attempt.baseline_metric, program.metric_tolerance
    measured = attempt.observation in ("improved", "no_improvement")
    if accepted or not measured or baseline is None or tolerance is None:
        return None
    if not all(map(math.isfinite, (attempt.metric, baseline))):
        return None
    gain = Decimal(repr(attempt.metric)) - Decimal(repr(baseline))
    gain = gain if program.metric_direction == "higher_is_better" else -gain
    return NearMiss(attempt=attempt, gain=float(gain)) if gain >= -Decimal(repr(tolerance)) else None
