"""What the comments on one thesis add up to, together with its pull requests."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from herdr_polyresearch.protocol import findings as say
from herdr_polyresearch.protocol.blocks import (
    AnnotationBlock,
    ApprovalBlock,
    AttemptBlock,
    Block,
    ClaimBlock,
    DecisionBlock,
    ReleaseBlock,
)
from herdr_polyresearch.protocol.candidate import decision
from herdr_polyresearch.protocol.model import (
    Attempt,
    Candidate,
    Claim,
    Decision,
    Guidance,
    Note,
    Phase,
    Release,
    Thesis,
    is_backed,
)
from herdr_polyresearch.protocol.names import belongs
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.slash import Slash
from herdr_polyresearch.protocol.threads import Comment, Issue
from herdr_polyresearch.protocol.trail import Trail
from herdr_polyresearch.protocol.words import Outcome, keeps_thesis


class ThesisReader:
    """Reads the thread of one thesis; `thesis` does it, once its pull requests are known."""

    def __init__(self, issue: Issue, comments: Sequence[Comment], program: Program, now: datetime) -> None:
        self.issue = issue
        self._program = program
        self._now = now
        self._trail = Trail(comments, "issue", program)
        self._events = list(self._trail.events())
        self._approved = False
        self._maintainer_approved = False
        self._holder: Claim | None = None
        self._decided_at: datetime | None = None
        self._releases: list[Release] = []
        self._attempts: list[Attempt] = []
        self._notes: list[Note] = []

    @property
    def guidance(self) -> list[Guidance]:
        """What the maintainer said on this thread."""
        return self._trail.guidance

    def requeued(self) -> dict[int, Decision]:
        """Return the lead's decisions that were posted here, by the number of the pull request they are on.

        A decision on a pull request ends its thesis for every reader; one that leaves it open stands here. Of
        several the first counts.
        """
        return {
            event.pr: decision(comment, event, requeues=True)
            for comment, event in reversed(self._events)
            if isinstance(event, DecisionBlock)
            and event.pr is not None
            and keeps_thesis(event.outcome, event.confirmations)
            and event.thesis == self.issue.number
            and self._trail.is_lead(comment)
        }

    def thesis(self, candidates: Sequence[Candidate]) -> Thesis:
        """Read the thread.

        Args:
            candidates: the pull requests of this thesis, newest first.
        """
        final = [c.decision for c in candidates if c.decision and not c.decision.requeues]
        self._decided_at = max((d.created_at for d in final), default=None)
        for comment, event in self._events:
            self._read(comment, event)
        attempts = tuple(a for a in self._attempts if a.comment_id not in self._trail.acknowledged)
        phase, outcome = self._phase(candidates, attempts, final)
        holder = self._holder
        active = holder is not None and not holder.expired and phase != "resolved"
        return Thesis(
            issue=self.issue,
            phase=phase,
            outcome=outcome,
            approved=self._approved,
            maintainer_approved=self._maintainer_approved,
            maintainer_rejected=self._trail.rejected,
            holder=holder,
            active_claims=(holder,) if holder and active else (),
            releases=tuple(self._releases),
            attempts=attempts,
            notes=tuple(self._notes),
            candidates=tuple(candidates),
            findings=self._trail.findings,
        )

    def withdrawn(self) -> set[str]:
        """Return the branches of attempts that counted until the lead took them back."""
        return {a.branch for a in self._attempts if a.comment_id in self._trail.acknowledged}

    def _read(self, comment: Comment, event: Block | Slash) -> None:
        if isinstance(event, Slash):
            self._approved = self._maintainer_approved = event.approve
        elif isinstance(event, ApprovalBlock):
            self._approve(comment, event)
        elif isinstance(event, ClaimBlock):
            self._claim(comment, event)
        elif isinstance(event, ReleaseBlock):
            self._release(comment, event)
        elif isinstance(event, AttemptBlock):
            self._attempt(comment, event)
        elif isinstance(event, AnnotationBlock):
            self._notes.append(
                Note(
                    comment_id=comment.id,
                    author=comment.author,
                    created_at=comment.created_at,
                    node=event.node,
                    text=event.text,
                )
            )

    def _approve(self, comment: Comment, event: ApprovalBlock) -> None:
        if event.thesis != self.issue.number:
            self._trail.fault(comment, say.APPROVAL_NUMBER)
        elif not self._trail.is_lead(comment):
            self._trail.fault(comment, say.APPROVAL_ACTOR)
        elif self._approved:
            self._trail.fault(comment, say.APPROVAL_AGAIN)
        else:
            self._approved = True

    def _claim(self, comment: Comment, event: ClaimBlock) -> None:
        if event.thesis != self.issue.number:
            self._trail.fault(comment, say.CLAIM_NUMBER)
        elif not self._approved:
            self._trail.fault(comment, say.CLAIM_UNAPPROVED)
        elif self._is_late(comment):
            self._trail.fault(comment, say.CLAIM_LATE)
        elif self._holder:
            # This holds also when the older claim has expired: it has to be released first, so that all readers
            # see the same winner.
            self._trail.fault(comment, say.CLAIM_HELD)
        else:
            expires_at = comment.created_at + self._program.assignment_timeout
            self._holder = Claim(
                comment_id=comment.id,
                author=comment.author,
                created_at=comment.created_at,
                node=event.node,
                expires_at=expires_at,
                expired=expires_at < self._now,
            )

    def _release(self, comment: Comment, event: ReleaseBlock) -> None:
        if event.thesis != self.issue.number:
            self._trail.fault(comment, say.RELEASE_NUMBER)
        elif self._holder is None or self._holder.node != event.node:
            self._trail.fault(comment, say.RELEASE_NODE)
        elif comment.author != self._holder.author and not self._trail.is_lead(comment):
            self._trail.fault(comment, say.RELEASE_ACTOR)
        else:
            self._holder = None
            self._releases.append(
                Release(
                    comment_id=comment.id,
                    author=comment.author,
                    created_at=comment.created_at,
                    node=event.node,
                    reason=event.reason,
                )
            )

    def _attempt(self, comment: Comment, event: AttemptBlock) -> None:
        if event.thesis != self.issue.number:
            self._trail.fault(comment, say.ATTEMPT_NUMBER)
        elif not self._approved:
            self._trail.fault(comment, say.ATTEMPT_UNAPPROVED)
        elif self._is_late(comment):
            self._trail.fault(comment, say.ATTEMPT_LATE)
        elif self._holder is None:
            self._trail.fault(comment, say.ATTEMPT_UNCLAIMED)
        elif self._holder.author != comment.author:
            self._trail.fault(comment, say.ATTEMPT_ACTOR)
        elif not belongs(event.branch, self.issue.number):
            self._trail.fault(comment, say.ATTEMPT_BRANCH)
        elif any(a.branch == event.branch for a in self._attempts):
            self._trail.fault(comment, say.ATTEMPT_AGAIN)
        else:
            self._attempts.append(
                Attempt(
                    comment_id=comment.id,
                    author=comment.author,
                    created_at=comment.created_at,
                    thesis=event.thesis,
                    node=self._holder.node,
                    branch=event.branch,
                    metric=event.metric,
                    baseline_metric=event.baseline_metric,
                    observation=event.observation,
                    summary=event.summary,
                    annotations=event.annotations,
                    runs=event.runs,
                    commit=event.commit,
                    exact=event.exact,
                )
            )

    def _is_late(self, comment: Comment) -> bool:
        closed_at = self.issue.closed_at if self.issue.state == "closed" else None
        return any(end is not None and comment.created_at > end for end in (self._decided_at, closed_at))

    def _phase(
        self, candidates: Sequence[Candidate], attempts: Sequence[Attempt], final: Sequence[Decision]
    ) -> tuple[Phase, Outcome | None]:
        if final:
            # Of two decisions in one second the one that the forge lists later is the older pull request's.
            latest = [d for d in final if d.created_at == self._decided_at][-1]
            return "resolved", latest.outcome
        claims = (self._holder,) if self._holder and not self._holder.expired else ()
        opened = [c for c in candidates if c.open and is_backed(c.pull, attempts, claims)]
        if opened:
            return ("in_review" if any(c.policy_pass for c in opened) else "candidate_submitted"), None
        if claims:
            return "claimed", None
        if self._approved:
            exhausted = any(r.reason == "no_improvement" for r in self._releases)
            return ("exhausted" if exhausted else "approved"), None
        return ("rejected" if self.issue.state == "closed" else "submitted"), None
