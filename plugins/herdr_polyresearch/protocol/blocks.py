"""The structured comments, one struct each, with the fields in the order in which they are written.

The types are those of the protocol's section "Structured comments", and `admin-note`, which repairs emit. A field
that is not the protocol's (`metric_exact`, `runs`, `commit`, `pr`) is one that other readers pass over.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import msgspec

from herdr_polyresearch.protocol.words import Observation, Outcome, Reason


class Annotation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One element of an attempt's `annotations`."""

    category: str
    task_id: str | None = None
    text: str


class ApprovalBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The lead approves a thesis."""

    TYPE: ClassVar[str] = "approval"
    thesis: int


class ClaimBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A contributor claims a thesis."""

    TYPE: ClassVar[str] = "claim"
    thesis: int
    node: str


class ReleaseBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A contributor, or the lead for it, gives a claim up without a candidate."""

    TYPE: ClassVar[str] = "release"
    thesis: int
    node: str
    reason: Reason


class AttemptBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A contributor records a completed experiment."""

    TYPE: ClassVar[str] = "attempt"
    thesis: int
    branch: str
    metric: float
    baseline_metric: float | None
    """None where the writer measured none; the existing tool from 0.5 on writes such attempts."""
    observation: Observation
    summary: str
    annotations: tuple[Annotation, ...] = ()
    runs: tuple[float, ...] = ()
    """The single measurements, when `metric` is their mean."""
    commit: str | None = None
    """The commit that was measured."""
    exact: bool = False
    """Whether a value was read from a field with more than four decimals; the writer finds out by itself."""


class AnnotationBlock(msgspec.Struct, frozen=True, kw_only=True):
    """An informational note on a thesis. `text` stands in the visible part."""

    TYPE: ClassVar[str] = "annotation"
    thesis: int
    node: str
    text: str


class PolicyPassBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The lead confirms that a candidate stays within the editable surface."""

    TYPE: ClassVar[str] = "policy-pass"
    thesis: int
    candidate_sha: str


class ReviewClaimBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A reviewer says that it evaluates a candidate."""

    TYPE: ClassVar[str] = "review-claim"
    thesis: int
    node: str


class ReviewBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A reviewer's own measurements of a candidate and of its base."""

    TYPE: ClassVar[str] = "review"
    thesis: int
    candidate_sha: str
    base_sha: str
    node: str
    metric: float
    baseline_metric: float
    observation: Observation
    env_sha: str | None
    """The hash of `.polyresearch/`; None when there is no such directory."""
    timestamp: str
    """In UTC, as `scalars.read_time` returns it."""
    exact: bool = False


class DecisionBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The lead resolves a candidate."""

    TYPE: ClassVar[str] = "decision"
    thesis: int
    candidate_sha: str
    outcome: Outcome
    confirmations: int
    pr: int | None = None
    """The pull request, when the comment is posted on the thesis instead."""


class AdminNoteBlock(msgspec.Struct, frozen=True, kw_only=True):
    """The lead repairs something and says so."""

    TYPE: ClassVar[str] = "admin-note"
    action: str
    target: str
    note: str
    related_comment_id: int | None = None


Block: TypeAlias = (
    ApprovalBlock
    | ClaimBlock
    | ReleaseBlock
    | AttemptBlock
    | AnnotationBlock
    | PolicyPassBlock
    | ReviewClaimBlock
    | ReviewBlock
    | DecisionBlock
    | AdminNoteBlock
)
