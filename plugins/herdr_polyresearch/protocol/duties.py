"""Duties: what a node has to do before it starts anything new, and what it may do next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from herdr_polyresearch.protocol.broken import broken_lines
from herdr_polyresearch.protocol.decide import MESSAGES, is_measured, unfinished
from herdr_polyresearch.protocol.ledger import Ledger, missing_rows
from herdr_polyresearch.protocol.model import Attempt, Candidate, State, Thesis
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.queue import at_floor, claimable, queue_depth


class Duty(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `polyresearch duties`; `command` is what to type, empty where there is nothing to."""

    category: str
    message: str
    command: str = ""
    role: Literal["contributor", "lead"] = "contributor"


class Duties(msgspec.Struct, frozen=True, kw_only=True):
    """What must be done first, and what is worth knowing."""

    blocking: tuple[Duty, ...]
    advisory: tuple[Duty, ...]

    @property
    def clean(self) -> bool:
        """Whether there is nothing at all."""
        return not self.blocking and not self.advisory

    def blocking_for(self, role: Literal["contributor", "lead"]) -> tuple[Duty, ...]:
        """Return what blocks a node in that role.

        Contributors may share the lead's login, and the lead's duties are not theirs.
        """
        return tuple(duty for duty in self.blocking if duty.role == role)


def duties(state: State, program: Program, ledger: Ledger, login: str, node: str | None) -> Duties:
    """Return the duties of one node.

    Args:
        state: the derived state.
        program: the project's parameters.
        ledger: results.tsv as it stands on the default branch.
        login: the GitHub login that the node acts as.
        node: its node id; None when it has none yet.
    """
    blocking: list[Duty] = []
    advisory: list[Duty] = []
    lead = login == program.lead_github_login
    blocking += _own_theses(state, node)
    if lead:
        _lead(state, program, ledger, blocking, advisory)
    reviews = list(_reviews(state, login, node))
    advisory += reviews
    if not lead and not reviews:
        advisory += _nothing_to_do(state, program, node)
    return Duties(blocking=tuple(blocking), advisory=tuple(advisory))


def enough_reviews(candidate: Candidate, program: Program) -> bool:
    """Whether a candidate has as many reviews of its present commit as it needs.

    Args:
        candidate: the pull request.
        program: it says how many are needed.
    """
    return len(candidate.current_reviews) >= program.required_confirmations


def _own_theses(state: State, node: str | None) -> Iterator[Duty]:
    for thesis in state.theses:
        claim = next((c for c in thesis.active_claims if c.node == node), None)
        if claim is None or not thesis.open:
            continue
        number = thesis.number
        claimed = (claim.created_at, claim.comment_id)
        since = [a for a in thesis.attempts if (a.created_at, a.comment_id) >= claimed]
        if not since:
            yield Duty(
                category="claim",
                message=f"Thesis #{number} is claimed and has no attempt of yours yet.",
                command=f"polyresearch attempt {number} … or polyresearch release {number} --reason …",
            )
        elif any(_unsubmitted(thesis, a) for a in since) and not any(
            c.open and thesis.backs(c) for c in thesis.candidates
        ):
            yield Duty(
                category="submit",
                message=f"Thesis #{number} has an improved attempt that was neither submitted nor released.",
                command=f"polyresearch submit {number} or polyresearch release {number} --reason …",
            )


def _unsubmitted(thesis: Thesis, attempt: Attempt) -> bool:
    candidate = thesis.candidate_of(attempt)
    # What was submitted and decided is no duty any more: submitting it again would be decided the same way.
    return attempt.observation == "improved" and not (candidate and candidate.decision)


def _lead(state: State, program: Program, ledger: Ledger, blocking: list[Duty], advisory: list[Duty]) -> None:
    if not program.auto_approve:
        advisory += (
            _duty("maintainer-approval", f"Thesis #{t.number} waits for the maintainer's /approve.")
            for t in state.theses
            if t.awaiting_maintainer
        )
    for candidate in state.candidates:
        thesis = state.thesis(candidate.thesis or -1)
        if thesis is None:
            continue
        if candidate.open and candidate.decision is None:
            _lead_candidate(candidate, thesis, program, blocking, advisory)
        elif _interrupted(candidate, thesis):
            number = candidate.pull.number
            message = f"The decision of PR #{number} was interrupted half-way."
            blocking.append(_duty("decide", message, f"polyresearch decide {number}"))
    missing = len(missing_rows(state, ledger))
    if missing:
        blocking.append(_duty("sync", f"results.tsv lacks {missing} rows.", "polyresearch sync"))
    broken = len(broken_lines(ledger))
    if broken:
        message = f"results.tsv holds {broken} lines that are no rows."
        blocking.append(_duty("sync", message, "polyresearch admin reconcile-ledger"))
    depth = queue_depth(state, program)
    if depth < program.min_queue_depth:
        advisory.append(
            _duty(
                "queue",
                f"The queue holds {depth} theses, fewer than min_queue_depth = {program.min_queue_depth}.",
                "polyresearch generate --title … --body …",
            )
        )
    if at_floor(state, program):
        advisory.append(_duty("metric-floor", "The best metric is below metric_tolerance: no gain can be told."))
        if 0 < depth >= program.min_queue_depth:
            advisory.append(_duty("stale-queue", f"None of the {depth} theses in the queue can gain anything."))


def _interrupted(candidate: Candidate, thesis: Thesis) -> bool:
    """Whether a decide stopped between the merge and its comment, or between that and closing."""
    if candidate.decision is None:
        return candidate.pull.state == "merged" and candidate.policy_pass
    return candidate.open and bool(unfinished(candidate, thesis))


def _lead_candidate(
    candidate: Candidate, thesis: Thesis, program: Program, blocking: list[Duty], advisory: list[Duty]
) -> None:
    number = candidate.pull.number
    if not thesis.backs(candidate):
        message = (
            f"PR #{number} is of nobody who claimed thesis #{thesis.number} or recorded its branch: close it."
        )
        advisory.append(_duty("stranger", message))
    elif not candidate.policy_pass:
        message = f"PR #{number} was not checked against the editable surface at its present commit."
        blocking.append(_duty("policy-check", message, f"polyresearch policy-check {number}"))
    elif not program.auto_approve and not candidate.maintainer_approved:
        advisory.append(_duty("maintainer-approval", f"PR #{number} waits for the maintainer's /approve."))
    elif enough_reviews(candidate, program) and (waits := _waits_for_author(candidate, thesis, program)):
        # A candidate whose author does not go on must not block the lead.
        advisory.append(_duty("decide", f"PR #{number} cannot be decided: {MESSAGES[waits][0]}."))
    elif enough_reviews(candidate, program):
        blocking.append(_duty("decide", f"PR #{number} can be decided.", f"polyresearch decide {number}"))


def _waits_for_author(
    candidate: Candidate, thesis: Thesis, program: Program
) -> Literal["no_attempt", "not_measured"] | None:
    """Say what keeps a candidate that nobody reviews from being decided, as far as hashes tell."""
    if program.required_confirmations:
        return None
    attempt = thesis.attempt_of(candidate.pull)
    if attempt is None:
        return "no_attempt"
    return None if is_measured(candidate, attempt) else "not_measured"


def _reviews(state: State, login: str, node: str | None) -> Iterator[Duty]:
    for thesis in state.theses:
        if thesis.phase != "in_review":
            continue
        for candidate in thesis.candidates:
            number = candidate.pull.number
            claimed = any(c.node == node and not c.expired for c in candidate.review_claims)
            mine = candidate.pull.author == login or claimed
            waiting = candidate.open and candidate.policy_pass and candidate.decision is None
            if waiting and thesis.backs(candidate) and not mine:
                yield Duty(
                    category="review",
                    message=f"PR #{number} can be reviewed.",
                    command=f"polyresearch review-claim {number}",
                )


def _nothing_to_do(state: State, program: Program, node: str | None) -> Iterator[Duty]:
    free = claimable(state)
    if queue_depth(state, program) == 0:
        yield Duty(category="idle", message="The queue is empty: wait, then look again.")
    elif not free:
        yield Duty(category="awaiting-approval", message="All theses in the queue wait for the maintainer.")
    elif at_floor(state, program):
        yield Duty(category="no-claimable-work", message="The best metric is below metric_tolerance already.")
    elif node and all(any(r.node == node for r in t.releases) for t in free):
        yield Duty(category="no-claimable-work", message="This node gave up every thesis in the queue before.")


def _duty(category: str, message: str, command: str = "") -> Duty:
    return Duty(category=category, message=message, command=command, role="lead")
