"""`status --json`: the shape of the existing tool, with our additions at the end of each object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from herdr_polyresearch.commands.output import finding_json
from herdr_polyresearch.protocol.model import Candidate, Thesis
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.threads import Issue, PullRequest

ADDED = ("annotations", "runs", "commit")
"""What an attempt has here and not there."""


def thesis_json(thesis: Thesis, program: Program) -> dict[str, Any]:
    """One thesis.

    Args:
        thesis: which one.
        program: it says which metric is better.
    """
    holder = thesis.holder
    return {
        "issue": _issue(thesis.issue),
        "phase": {"resolved": {"outcome": thesis.outcome}} if thesis.outcome else thesis.phase,
        "approved": thesis.approved,
        "maintainer_approved": thesis.maintainer_approved,
        "maintainer_rejected": thesis.maintainer_rejected,
        "active_claims": [
            {"node": c.node, "created_at": c.created_at, "expired": c.expired, "expires_at": c.expires_at}
            for c in thesis.active_claims
        ],
        "releases": [{"node": r.node, "reason": r.reason, "created_at": r.created_at} for r in thesis.releases],
        "attempts": [_fields(a, but=("comment_id", "exact"), added=ADDED) for a in thesis.attempts],
        "pull_requests": [_candidate(c) for c in thesis.candidates],
        "best_attempt_metric": best_attempt(thesis, program),
        "findings": [finding_json(f) for f in thesis.findings],
        "held_by": holder.node if holder else None,
        "notes": [{"node": n.node, "text": n.text, "created_at": n.created_at} for n in thesis.notes],
    }


def best_attempt(thesis: Thesis, program: Program) -> float | None:
    """The best metric that any attempt at a thesis measured.

    Args:
        thesis: which one.
        program: it says which metric is better.
    """
    measured = [a.metric for a in thesis.attempts if a.observation in ("improved", "no_improvement")]
    best = max if program.metric_direction == "higher_is_better" else min
    return best(measured, default=None)


def waiting(theses: Iterator[Thesis], program: Program) -> tuple[list[str], int, int]:
    """What waits for the maintainer: the lines, how many wait, how many were rejected.

    Args:
        theses: those to look at.
        program: it says whether anything waits for the maintainer.
    """
    lines, pending, rejected = [], 0, 0
    for thesis in theses if not program.auto_approve else ():
        if not thesis.open:
            continue
        if thesis.maintainer_rejected:
            lines.append(f"thesis #{thesis.number} rejected")
            rejected += 1
        elif thesis.awaiting_maintainer:
            lines.append(f"thesis #{thesis.number} awaiting /approve")
            pending += 1
        for candidate in thesis.candidates:
            if not candidate.open or candidate.decision:
                continue
            if candidate.maintainer_rejected:
                lines.append(f"PR #{candidate.pull.number} rejected")
                rejected += 1
            elif candidate.policy_pass and not candidate.maintainer_approved:
                lines.append(f"PR #{candidate.pull.number} awaiting /approve")
                pending += 1
    return lines, pending, rejected


def _candidate(candidate: Candidate) -> dict[str, Any]:
    decision = candidate.decision
    return {
        "pr": _pull(candidate.pull),
        "thesis_number": candidate.thesis,
        "policy_pass": candidate.policy_pass,
        "maintainer_approved": candidate.maintainer_approved,
        "maintainer_rejected": candidate.maintainer_rejected,
        "review_claims": [
            {"node": c.node, "created_at": c.created_at, "expired": c.expired} for c in candidate.review_claims
        ],
        "reviews": [_fields(r, but=("comment_id", "exact", "author")) for r in candidate.reviews],
        "decision": _fields(decision, but=("comment_id", "author", "requeues")) if decision else None,
        "findings": [finding_json(f) for f in candidate.findings],
        "passed_sha": candidate.passed_sha,
    }


def _issue(issue: Issue) -> dict[str, Any]:
    return {
        "number": issue.number,
        "title": issue.title,
        "body": issue.body,
        "state": issue.state.upper(),
        "labels": [{"name": name} for name in issue.labels],
        "createdAt": issue.created_at,
        "closedAt": issue.closed_at,
        "author": {"login": issue.author},
        "url": issue.url,
    }


def _pull(pull: PullRequest) -> dict[str, Any]:
    return {
        "number": pull.number,
        "title": pull.title,
        "body": pull.body,
        "state": pull.state.upper(),
        "headRefName": pull.head_ref,
        "headRefOid": pull.head_sha,
        "baseRefName": pull.base_ref,
        "createdAt": pull.created_at,
        "closedAt": pull.closed_at,
        "mergedAt": pull.merged_at,
        "author": {"login": pull.author},
        "url": pull.url,
    }


def _fields(event: msgspec.Struct, *, but: tuple[str, ...], added: tuple[str, ...] = ()) -> dict[str, Any]:
    """The fields of an event in the order of the existing tool, who and when at their end, and then ours."""
    shown = {name: value for name, value in msgspec.structs.asdict(event).items() if name not in but}
    last = [name for name in ("author", "created_at", *added) if name in shown]
    return {name: shown[name] for name in (*(n for n in shown if n not in last), *last)}
