"""What the comment trail adds up to: theses, claims, attempts, candidates, and what was wrong with the rest.

These structs are only ever made by `derive`. The words are the protocol's; every event keeps the id, author and
time of the comment that it came from.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from herdr_polyresearch.protocol.blocks import Annotation
from herdr_polyresearch.protocol.names import same_commit
from herdr_polyresearch.protocol.threads import Issue, PullRequest, Repo
from herdr_polyresearch.protocol.words import Observation, Outcome, Reason

Phase = Literal[
    "submitted", "approved", "exhausted", "claimed", "candidate_submitted", "in_review", "resolved", "rejected"
]
"""Where a thesis stands; `resolved` comes with an outcome."""

Scope = Literal["issue", "pull_request", "repository"]
Severity = Literal["invalid", "suspicious"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A comment that looks like a protocol event and does not count, or counts only once; for the audit."""

    scope: Scope
    number: int | None
    """The issue or pull request; None for one about the whole repository."""
    severity: Severity
    message: str
    comment_id: int | None = None
    author: str | None = None
    created_at: datetime | None = None
    lost_race: bool = False
    """Whether it is a claim that came second, which nobody can help."""
    slash: bool = False
    """Whether it is an `/approve` or `/reject` of somebody who is not the maintainer."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What every valid event keeps of its comment."""

    comment_id: int
    author: str
    created_at: datetime


class Claim(Event, frozen=True, kw_only=True):
    """A node's hold on a thesis."""

    node: str
    expires_at: datetime
    expired: bool
    """Whether `assignment_timeout` had passed at the time of the derivation."""


class Release(Event, frozen=True, kw_only=True):
    """The end of a claim without a candidate."""

    node: str
    reason: Reason


class Attempt(Event, frozen=True, kw_only=True):
    """One recorded experiment; `node` is that of the claim it was made under."""

    thesis: int
    node: str
    branch: str
    metric: float
    baseline_metric: float | None
    observation: Observation
    summary: str
    annotations: tuple[Annotation, ...] = ()
    runs: tuple[float, ...] = ()
    """The single measurements, when `metric` is their mean."""
    commit: str | None = None
    """The commit that was measured, when the writer said so."""
    exact: bool = False
    """Whether the metric needs more than the four decimals of the comment's own field."""


class Note(Event, frozen=True, kw_only=True):
    """An annotation on a thesis: negative knowledge for whoever proposes the next one."""

    node: str
    text: str


class Guidance(Event, frozen=True, kw_only=True):
    """A maintainer's `/approve` or `/reject` with the reason given."""

    scope: Scope
    number: int
    approved: bool
    reason: str


class ReviewClaim(Event, frozen=True, kw_only=True):
    """A node's announcement that it evaluates a candidate."""

    node: str
    expires_at: datetime
    expired: bool
    """Whether `review_timeout` passed without a review of that node."""


class Review(Event, frozen=True, kw_only=True):
    """One independent measurement of a candidate and of its base."""

    node: str
    metric: float
    baseline_metric: float
    observation: Observation
    candidate_sha: str
    base_sha: str
    env_sha: str | None
    timestamp: str
    exact: bool = False


class Decision(Event, frozen=True, kw_only=True):
    """What the lead decided on a candidate."""

    outcome: Outcome
    candidate_sha: str
    confirmations: int
    requeues: bool = False
    """Whether it was posted on the thesis, where it leaves the thesis open instead of ending it."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request and what was said about it; `thesis` is None when its branch names none."""

    pull: PullRequest
    thesis: int | None
    policy_pass: bool
    """Whether the lead passed the commit that the head branch points to now."""
    passed_sha: str | None
    """The commit of the latest pass, also when the branch moved on."""
    maintainer_approved: bool
    maintainer_rejected: bool
    review_claims: tuple[ReviewClaim, ...]
    reviews: tuple[Review, ...]
    decision: Decision | None
    findings: tuple[Finding, ...]

    @property
    def open(self) -> bool:
        """Whether it can still be decided by closing or merging it."""
        return self.pull.state == "open"

    @property
    def current_reviews(self) -> tuple[Review, ...]:
        """The reviews of the commit that the head branch points to now."""
        head = self.pull.head_sha
        return tuple(r for r in self.reviews if not head or same_commit(r.candidate_sha, head))


class Thesis(msgspec.Struct, frozen=True, kw_only=True):
    """An issue with the label `thesis` and all that followed."""

    issue: Issue
    phase: Phase
    outcome: Outcome | None
    """Set when the phase is `resolved`."""
    approved: bool
    maintainer_approved: bool
    maintainer_rejected: bool
    holder: Claim | None
    """The claim that nobody released yet, expired or not: while there is one, a new claim would not count."""
    active_claims: tuple[Claim, ...]
    releases: tuple[Release, ...]
    attempts: tuple[Attempt, ...]
    notes: tuple[Note, ...]
    candidates: tuple[Candidate, ...]
    """Its pull requests, newest first."""
    findings: tuple[Finding, ...]

    @property
    def number(self) -> int:
        """The number of its issue."""
        return self.issue.number

    @property
    def open(self) -> bool:
        """Whether its issue is open."""
        return self.issue.state == "open"

    @property
    def awaiting_maintainer(self) -> bool:
        """Whether it waits for the maintainer's word."""
        return self.open and self.phase == "submitted" and not self.maintainer_rejected

    def candidate_of(self, branch: str) -> Candidate | None:
        """Return the newest pull request whose head is `branch`."""
        return next((c for c in self.candidates if c.pull.head_ref == branch), None)


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one snapshot adds up to."""

    repo: Repo
    now: datetime
    theses: tuple[Thesis, ...]
    """By number, lowest first."""
    candidates: tuple[Candidate, ...]
    """Every pull request of the repository, newest first."""
    findings: tuple[Finding, ...]
    """By comment id, those that the lead acknowledged left out."""
    disputed: tuple[Finding, ...]
    """What only the existing tool's reader would find, not acknowledged yet; see `repairs`."""
    guidance: tuple[Guidance, ...]
    """Newest first."""
    withdrawn: frozenset[str] = frozenset()
    """Branches of valid attempts that the lead took back; their rows raise no bar."""

    def thesis(self, number: int) -> Thesis | None:
        """Return the thesis with that issue number."""
        return next((t for t in self.theses if t.number == number), None)

    def candidate(self, number: int) -> Candidate | None:
        """Return the pull request with that number."""
        return next((c for c in self.candidates if c.pull.number == number), None)
