"""What the comments on one pull request add up to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from herdr_polyresearch.protocol import findings as say
from herdr_polyresearch.protocol.blocks import DecisionBlock, PolicyPassBlock, ReviewBlock, ReviewClaimBlock
from herdr_polyresearch.protocol.model import Candidate, Decision, Finding, Guidance, Review, ReviewClaim
from herdr_polyresearch.protocol.names import same_commit, thesis_of
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.threads import Comment, PullRequest
from herdr_polyresearch.protocol.trail import Trail


class CandidateReader:
    """Reads the thread of one pull request, event by event."""

    def __init__(self, pull: PullRequest, comments: Sequence[Comment], program: Program, now: datetime) -> None:
        self.pull = pull
        self.thesis = thesis_of(pull.head_ref)
        self._program = program
        self._now = now
        self._trail = Trail(comments, "pull_request", program)
        self._passed: list[str] = []
        self._claims: dict[str, Comment] = {}
        self._reviews: list[Review] = []
        self._decision: Decision | None = None
        for comment, event in self._trail.events():
            if isinstance(event, PolicyPassBlock):
                self._pass(comment, event)
            elif isinstance(event, ReviewClaimBlock):
                self._claim(comment, event)
            elif isinstance(event, ReviewBlock):
                self._review(comment, event)
            elif isinstance(event, DecisionBlock):
                self._decide(comment, event)

    @property
    def disputed(self) -> tuple[Finding, ...]:
        """What only the existing reader would find on this thread."""
        return self._trail.disputed

    @property
    def guidance(self) -> list[Guidance]:
        """What the maintainer said on this thread."""
        return self._trail.guidance

    def candidate(self, requeued: Decision | None) -> Candidate:
        """Return the result; `requeued` is a decision on it that was posted on the thesis."""
        head = self.pull.head_sha
        return Candidate(
            pull=self.pull,
            thesis=self.thesis,
            policy_pass=any(not head or same_commit(sha, head) for sha in self._passed),
            passed_sha=self._passed[-1] if self._passed else None,
            maintainer_approved=self._trail.approved,
            maintainer_rejected=self._trail.rejected,
            review_claims=tuple(self._review_claim(node, comment) for node, comment in self._claims.items()),
            reviews=tuple(self._reviews),
            decision=self._decision or requeued,
            findings=self._trail.findings,
        )

    def _pass(self, comment: Comment, event: PolicyPassBlock) -> None:
        if not self._trail.is_lead(comment):
            self._trail.fault(comment, say.PASS_ACTOR)
        elif event.thesis != self.thesis:
            self._trail.fault(comment, say.PASS_NUMBER)
        elif self._decision:
            self._trail.fault(comment, say.PASS_LATE)
        elif any(same_commit(sha, event.candidate_sha) for sha in self._passed):
            self._trail.fault(comment, say.PASS_AGAIN)
        else:
            # A pass holds for one commit: after a push the branch needs another. The existing reader knows only
            # one.
            if self._passed:
                self._trail.dispute(comment, say.PASS_AGAIN)
            self._passed.append(event.candidate_sha)

    def _claim(self, comment: Comment, event: ReviewClaimBlock) -> None:
        if self._decision:
            self._trail.fault(comment, say.REVIEW_CLAIM_LATE)
        elif comment.author == self.pull.author:
            self._trail.fault(comment, say.REVIEW_CLAIM_OWN)
        elif event.node in self._claims:
            self._trail.fault(comment, say.REVIEW_CLAIM_AGAIN)
        else:
            self._claims[event.node] = comment

    def _review(self, comment: Comment, event: ReviewBlock) -> None:
        claim = self._claims.get(event.node)
        earlier = [r for r in self._reviews if r.node == event.node]
        if self._decision:
            self._trail.fault(comment, say.REVIEW_LATE)
        elif comment.author == self.pull.author:
            self._trail.fault(comment, say.REVIEW_OWN)
        elif claim is None:
            self._trail.fault(comment, say.REVIEW_UNCLAIMED)
        elif claim.author != comment.author:
            self._trail.fault(comment, say.REVIEW_ACTOR)
        elif any(same_commit(r.candidate_sha, event.candidate_sha) for r in earlier):
            self._trail.fault(comment, say.REVIEW_AGAIN)
        else:
            # A review holds for one commit, too.
            if earlier:
                self._trail.dispute(comment, say.REVIEW_AGAIN)
            self._reviews.append(
                Review(
                    comment_id=comment.id,
                    author=comment.author,
                    created_at=comment.created_at,
                    node=event.node,
                    metric=event.metric,
                    baseline_metric=event.baseline_metric,
                    observation=event.observation,
                    candidate_sha=event.candidate_sha,
                    base_sha=event.base_sha,
                    env_sha=event.env_sha,
                    timestamp=event.timestamp,
                    exact=event.exact,
                )
            )

    def _decide(self, comment: Comment, event: DecisionBlock) -> None:
        rejection = event.outcome == "policy_rejection"
        if not self._trail.is_lead(comment):
            self._trail.fault(comment, say.DECISION_ACTOR)
        elif not self._passed and not rejection:
            self._trail.fault(comment, say.DECISION_UNPASSED)
        elif self._decision:
            self._trail.fault(comment, say.DECISION_AGAIN)
        else:
            # A candidate that fails the policy check never has a pass; the existing reader demands one all the
            # same.
            if not self._passed:
                self._trail.dispute(comment, say.DECISION_UNPASSED)
            self._decision = decision(comment, event)

    def _review_claim(self, node: str, comment: Comment) -> ReviewClaim:
        expires_at = comment.created_at + self._program.review_timeout
        return ReviewClaim(
            comment_id=comment.id,
            author=comment.author,
            created_at=comment.created_at,
            node=node,
            expires_at=expires_at,
            expired=expires_at < self._now and all(r.node != node for r in self._reviews),
        )


def decision(comment: Comment, event: DecisionBlock, *, requeues: bool = False) -> Decision:
    """Return the decision that a comment of the lead makes.

    Args:
        comment: the lead's.
        event: the block in it.
        requeues: whether it gives the thesis back to the queue.
    """
    return Decision(
        comment_id=comment.id,
        author=comment.author,
        created_at=comment.created_at,
        outcome=event.outcome,
        candidate_sha=event.candidate_sha,
        confirmations=event.confirmations,
        requeues=requeues,
    )
