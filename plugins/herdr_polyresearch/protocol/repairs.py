"""What the lead's `sync` puts right by comments, so that every reader sees the same project."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from herdr_polyresearch.protocol.blocks import AdminNoteBlock, ReleaseBlock
from herdr_polyresearch.protocol.model import Claim, Finding, State, Thesis
from herdr_polyresearch.protocol.words import REQUEUES, Reason


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """A comment to post on a thread, and why."""

    thread: int
    block: ReleaseBlock | AdminNoteBlock
    why: str


def repairs(state: State) -> tuple[Repair, ...]:
    """Return the comments that the lead posts when it syncs; none of them changes who won what.

    - A claim that expired is released, as otherwise no later claim counts for anybody.
    - A claim whose candidate went stale, could not be evaluated or broke the policy is released.
    - Claims that came second are acknowledged: a lost race is nobody's mistake.
    - What only the existing reader finds fault with is acknowledged.
    """
    return (*_releases(state), *_acknowledgements(state))


def release_reason(thesis: Thesis) -> Reason | None:
    """Return with which reason the lead releases the claim on a thesis; None when there is none to release."""
    holder = thesis.holder
    if holder is None:
        return None
    if _ended_by_decision(thesis, holder):
        return "infra_failure"
    return "timeout" if holder.expired and thesis.phase != "resolved" else None


def acknowledgement(finding: Finding, note: str) -> AdminNoteBlock:
    """Return the lead's note that a finding about a comment was seen.

    Args:
        finding: what the audit found.
        note: what the lead says of it.
    """
    where = "PR" if finding.scope == "pull_request" else "issue"
    return AdminNoteBlock(
        action="acknowledge_invalid",
        target=f"{where} #{finding.number}",
        note=note,
        related_comment_id=finding.comment_id,
    )


def _releases(state: State) -> Iterator[Repair]:
    for thesis in state.theses:
        reason = release_reason(thesis)
        if thesis.holder and reason:
            yield Repair(
                thread=thesis.number,
                block=ReleaseBlock(thesis=thesis.number, node=thesis.holder.node, reason=reason),
                why="the claim expired"
                if reason == "timeout"
                else "the decision on its candidate ended the claim",
            )


def _acknowledgements(state: State) -> Iterator[Repair]:
    for finding in (*(f for f in state.findings if f.lost_race), *state.disputed):
        if finding.number is None:
            continue
        note = "Lost race for the claim" if finding.lost_race else "Counts: this is how the protocol has it"
        yield Repair(thread=finding.number, block=acknowledgement(finding, note), why=finding.message)


def _ended_by_decision(thesis: Thesis, holder: Claim) -> bool:
    decisions = (c.decision for c in thesis.candidates if c.decision)
    return any(
        d.outcome == "policy_rejection" or (d.requeues and d.outcome in REQUEUES)
        for d in decisions
        if (d.created_at, d.comment_id) > (holder.created_at, holder.comment_id)
    )
