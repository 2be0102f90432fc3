"""What the audit says of a comment that does not count: one sentence for each case of the derivation."""

from __future__ import annotations

from typing import NamedTuple

from herdr_polyresearch.protocol.model import Finding, Scope, Severity, State
from herdr_polyresearch.protocol.threads import Comment


class Fault(NamedTuple):
    """Why a comment does not count: `invalid` has no effect, `suspicious` repeats what is known already."""

    severity: Severity
    message: str


def _invalid(message: str) -> Fault:
    return Fault("invalid", message)


def _repeated(message: str) -> Fault:
    return Fault("suspicious", message)


SLASH = _invalid("an /approve or /reject counts only from the maintainer")
ADMIN_NOTE = _invalid("a repair note counts only from the lead")

APPROVAL_NUMBER = _invalid("the approval names another thesis")
APPROVAL_ACTOR = _invalid("an approval counts only from the lead")
APPROVAL_AGAIN = _repeated("the thesis was approved before")

CLAIM_NUMBER = _invalid("the claim names another thesis")
CLAIM_UNAPPROVED = _invalid("the thesis was not approved when it was claimed")
CLAIM_LATE = _invalid("the thesis was closed or decided when it was claimed")
CLAIM_HELD = _invalid("another claim was not released yet, so this one came second")

RELEASE_NUMBER = _invalid("the release names another thesis")
RELEASE_NODE = _invalid("the node did not hold the claim that it releases")
RELEASE_ACTOR = _invalid("a claim can be released only by whoever made it, or by the lead")

ATTEMPT_NUMBER = _invalid("the attempt names another thesis")
ATTEMPT_UNAPPROVED = _invalid("the thesis was not approved when the attempt was posted")
ATTEMPT_LATE = _invalid("the thesis was closed or decided when the attempt was posted")
ATTEMPT_UNCLAIMED = _invalid("the thesis was not claimed when the attempt was posted")
ATTEMPT_ACTOR = _invalid("the thesis was claimed by somebody else when the attempt was posted")
ATTEMPT_BRANCH = _invalid("the attempt's branch is not named after the thesis")
ATTEMPT_AGAIN = _repeated("an attempt on this branch is recorded already")

PASS_ACTOR = _invalid("a policy pass counts only from the lead")
PASS_NUMBER = _invalid("the policy pass names another thesis than the branch")
PASS_LATE = _invalid("the pull request was decided when it was passed")
PASS_AGAIN = _repeated("the pull request was passed before")

REVIEW_CLAIM_LATE = _invalid("the pull request was decided when its review was claimed")
REVIEW_CLAIM_OWN = _invalid("nobody reviews a pull request of their own")
REVIEW_CLAIM_AGAIN = _repeated("the node has claimed this review before")

REVIEW_LATE = _invalid("the pull request was decided when the review was posted")
REVIEW_OWN = _invalid("a review of one's own pull request does not count")
REVIEW_UNCLAIMED = _invalid("the node had not claimed the review")
REVIEW_ACTOR = _invalid("the review was claimed by somebody else")
REVIEW_AGAIN = _repeated("the node has reviewed this before")

DECISION_ACTOR = _invalid("a decision counts only from the lead")
DECISION_UNPASSED = _invalid("the pull request was decided without a policy pass")
DECISION_AGAIN = _repeated("the pull request was decided before")

LEDGER_STALE = _invalid("results.tsv lacks rows for what the comments record")
LEDGER_BROKEN = _invalid("results.tsv holds a line that is no row")


def finding(comment: Comment, scope: Scope, fault: Fault) -> Finding:
    """Return the finding that says `fault` of a comment.

    Args:
        comment: what is wrong.
        scope: whether it is on an issue or a pull request.
        fault: what is wrong with it.
    """
    return Finding(
        scope=scope,
        number=comment.thread,
        severity=fault.severity,
        message=fault.message,
        comment_id=comment.id,
        author=comment.author,
        created_at=comment.created_at,
        lost_race=fault is CLAIM_HELD,
        slash=fault is SLASH,
    )


def blocking(state: State) -> tuple[Finding, ...]:
    """Return the findings that keep the lead from deciding, checking and generating.

    On a public repository anybody can post a comment that makes a finding, so only those of people who may push
    count. Where the forge does not tell who they are, only slash commands of strangers are known to be harmless.
    """
    people = state.repo.collaborators
    if people is None:
        return tuple(f for f in state.findings if not f.slash)
    return tuple(f for f in state.findings if f.author is None or f.author in people)
