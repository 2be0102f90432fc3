"""Deciding a candidate: the guards, the verdict by either mode, and the writes that follow, in order."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Literal

import msgspec

from herdr_polyresearch.protocol.blocks import DecisionBlock
from herdr_polyresearch.protocol.findings import blocking
from herdr_polyresearch.protocol.ledger import Ledger, best_accepted, missing_rows
from herdr_polyresearch.protocol.model import Attempt, Candidate, Review, State, Thesis
from herdr_polyresearch.protocol.names import same_commit
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.scalars import mean
from herdr_polyresearch.protocol.words import FAILED, Outcome, keeps_thesis

Refusal = Literal[
    "dirty_audit",
    "stale_ledger",
    "not_found",
    "already_decided",
    "closed",
    "no_policy_pass",
    "no_maintainer",
    "maintainer_rejected",
    "maintainer_pending",
    "no_tolerance",
    "no_attempt",
    "not_measured",
    "not_enough_reviews",
]
"""Why a candidate cannot be decided now."""

Action = Literal["merge_pr", "post_decision", "close_pr", "close_issue"]

MESSAGES: dict[Refusal, tuple[str, str]] = {
    "dirty_audit": (
        "the audit has findings",
        "polyresearch audit, then polyresearch admin acknowledge-invalid <comment>",
    ),
    "stale_ledger": ("results.tsv lacks rows", "polyresearch sync"),
    "not_found": ("there is no such pull request of a thesis", "polyresearch status"),
    "already_decided": ("it has a decision", "polyresearch status"),
    "closed": ("it would be accepted, and was closed without a merge", "reopen it, or leave it closed"),
    "no_policy_pass": (
        "its present commit has not passed the policy check",
        "polyresearch policy-check <pr>",
    ),
    "no_maintainer": (
        "auto_approve is false and maintainer_github_login is not set",
        "set maintainer_github_login in PROGRAM.md",
    ),
    "maintainer_rejected": (
        "the maintainer rejected it",
        "close or replace it, or wait for the maintainer's /approve on it",
    ),
    "maintainer_pending": (
        "auto_approve is false and the maintainer has not approved it",
        "wait for the maintainer's /approve on it",
    ),
    "no_tolerance": ("metric_tolerance is not set", "set metric_tolerance in PROGRAM.md"),
    "no_attempt": (
        "whoever opened it recorded no attempt on its branch",
        "close it, or wait for that attempt: polyresearch attempt <issue> …, by whoever claimed the thesis",
    ),
    "not_measured": (
        "its present commit is not the one that its attempt measured",
        "its author measures it on a new branch: polyresearch attempt <issue> …, then polyresearch submit",
    ),
    "not_enough_reviews": (
        "it has fewer reviews of its present commit than required_confirmations",
        "polyresearch review-claim <pr>, on other nodes",
    ),
}
"""What each refusal means, and what helps."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a candidate, and what has to be written, in order."""

    outcome: Outcome
    confirmations: int
    actions: tuple[Action, ...]
    keeps_thesis: bool
    """Whether the thesis stays open, so that the decision is posted on it rather than on the pull request."""


def decide(
    state: State,
    program: Program,
    ledger: Ledger,
    number: int,
    heads: Collection[str] | None,
    merged: Collection[str] = (),
) -> Verdict | Refusal:
    """Decide a pull request, or say why it cannot be decided now.

    Args:
        state: the derived state.
        program: the project's parameters.
        ledger: results.tsv of the default branch.
        number: the pull request.
        heads: the commits that a review may have taken as its base: the default branch's head, and those before
            it from which it differs in nothing but results.tsv. None skips the comparison.
        merged: the commits from which the candidate's head differs by nothing but merges of the default branch.
    """
    candidate = state.candidate(number)
    thesis = state.thesis(candidate.thesis) if candidate and candidate.thesis is not None else None
    refusal = guard(state, program, ledger, candidate, thesis)
    if refusal or candidate is None or thesis is None:
        return refusal or "not_found"
    return judge(program, ledger, candidate, thesis, heads, merged, withdrawn=state.withdrawn)


def guard(
    state: State, program: Program, ledger: Ledger, candidate: Candidate | None, thesis: Thesis | None
) -> Refusal | None:
    """Return the first reason not to decide, in the order in which they are worth knowing.

    Args:
        state: what the comments add up to.
        program: PROGRAM.md's parameters.
        ledger: results.tsv.
        candidate: the pull request; None when there is none.
        thesis: its thesis; None when there is none.
    """
    if blocking(state):
        return "dirty_audit"
    if missing_rows(state, ledger):
        return "stale_ledger"
    if candidate is None or thesis is None:
        return "not_found"
    if candidate.decision:
        return "already_decided"
    if not candidate.policy_pass:
        return "no_policy_pass"
    if not program.auto_approve:
        if not program.maintainer_github_login:
            return "no_maintainer"
        if candidate.maintainer_rejected:
            return "maintainer_rejected"
        if not candidate.maintainer_approved:
            return "maintainer_pending"
    return None


def judge(
    program: Program,
    ledger: Ledger,
    candidate: Candidate,
    thesis: Thesis,
    heads: Collection[str] | None,
    merged: Collection[str] = (),
    *,
    withdrawn: frozenset[str] = frozenset(),
) -> Verdict | Refusal:
    """Return the verdict on a candidate that the guards let through.

    A merge that is done already is a decision that was never posted: it is made good as `accepted`.

    Args:
        program: PROGRAM.md's parameters.
        ledger: results.tsv.
        candidate: the pull request.
        thesis: its thesis.
        heads: see `decide`.
        merged: see `decide`.
        withdrawn: the branches whose rows in results.tsv do not count.
    """
    if candidate.pull.state != "merged" and not thesis.backs(candidate):
        return "no_attempt"
    reviews = candidate.current_reviews
    required = program.required_confirmations
    if len(reviews) < required:
        return "not_enough_reviews"
    if program.metric_tolerance is None or not math.isfinite(program.metric_tolerance):
        return "no_tolerance"
    outcome: Outcome
    if candidate.pull.state == "merged":
        outcome = "accepted"
    elif required:
        outcome = by_reviews(reviews, program.metric_tolerance, heads)
    else:
        attempt = thesis.attempt_of(candidate.pull)
        if attempt is None:
            return "no_attempt"
        if not is_measured(candidate, attempt, merged):
            return "not_measured"
        bar = best_accepted(ledger.rows, program, withdrawn)
        outcome = "accepted" if by_report(attempt, program, program.metric_tolerance, bar) else "non_improvement"
    if outcome == "accepted" and candidate.pull.state == "closed":
        return "closed"
    return verdict(outcome, len(reviews) if required else 0, merged=candidate.pull.state == "merged")


def is_measured(candidate: Candidate, attempt: Attempt, merged: Collection[str] = ()) -> bool:
    """Whether the commit that would be merged is the one that an attempt's metric is of, where both are known.

    Args:
        candidate: the pull request.
        attempt: what it submits; one that the existing tool wrote names no commit.
        merged: see `decide`; a conflict is resolved by such a merge, and that is no reason to measure again.
    """
    head, commit = candidate.pull.head_sha, attempt.commit
    return not head or not commit or any(same_commit(commit, known) for known in (head, *merged))


def verdict(outcome: Outcome, confirmations: int, *, merged: bool = False) -> Verdict:
    """Return what an outcome entails; a merge comes before its decision, which nobody could take back.

    Args:
        outcome: what was decided.
        confirmations: how many reviews it rests on; 0 where none are required.
        merged: whether the merge is done already.
    """
    keeps = keeps_thesis(outcome, confirmations)
    actions: tuple[Action, ...]
    if outcome == "accepted":
        actions = ("post_decision", "close_issue") if merged else ("merge_pr", "post_decision", "close_issue")
    else:
        actions = ("post_decision", "close_pr") if keeps else ("post_decision", "close_pr", "close_issue")
    return Verdict(outcome=outcome, confirmations=confirmations, actions=actions, keeps_thesis=keeps)


def unfinished(candidate: Candidate, thesis: Thesis) -> tuple[Action, ...]:
    """Return what a decision that is posted still lacks, when whoever posted it stopped half-way.

    Args:
        candidate: the pull request.
        thesis: its thesis.
    """
    if candidate.decision is None:
        return ()
    wanted = verdict(candidate.decision.outcome, candidate.decision.confirmations)
    done = {"merge_pr", "post_decision"}
    if not candidate.open:
        done.add("close_pr")
    if not thesis.open:
        done.add("close_issue")
    return tuple(action for action in wanted.actions if action not in done)


def decision_block(candidate: Candidate, thesis: Thesis, found: Verdict) -> tuple[int, DecisionBlock]:
    """Return the decision to post, and the thread to post it on.

    A decision on the pull request ends the thesis for nodes on the existing tool, whatever its outcome. They pass
    over one on the thesis, and see the pull request closed and the thesis free again, as is meant.

    Args:
        candidate: the pull request.
        thesis: its thesis.
        found: the verdict.
    """
    number = candidate.pull.number
    block = DecisionBlock(
        thesis=thesis.number,
        candidate_sha=candidate.pull.head_sha,
        outcome=found.outcome,
        confirmations=found.confirmations,
        pr=number if found.keeps_thesis else None,
    )
    return (thesis.number if found.keeps_thesis else number), block


def by_reviews(reviews: Sequence[Review], tolerance: float, heads: Collection[str] | None) -> Outcome:
    """Return what a candidate's reviews add up to.

    Args:
        reviews: those of its present commit, at least one.
        tolerance: how far metrics may lie apart and still agree.
        heads: the commits of which every review's base must be one; None skips that.
    """
    if heads is not None and not all(any(same_commit(r.base_sha, head) for head in heads) for r in reviews):
        return "stale"
    if len({r.env_sha for r in reviews if r.env_sha is not None}) > 1:
        return "disagreement"
    if 2 * sum(r.observation in FAILED for r in reviews) >= len(reviews):
        return "infra_failure"
    observed = {r.observation for r in reviews}
    metrics = [r.metric for r in reviews]
    agree = all(map(math.isfinite, metrics)) and exceeds(max(metrics), min(metrics), tolerance) <= 0
    if agree and observed == {"improved"}:
        return "accepted"
    if agree and observed == {"no_improvement"}:
        return "non_improvement"
    return "disagreement"


def by_report(attempt: Attempt, program: Program, tolerance: float, bar: float | None) -> bool:
    """Whether an attempt's own numbers are enough: beyond the tolerance over its baseline, and up to the bar.

    With three runs or more their mean counts, and the worst of them must not be worse than the baseline.

    Args:
        attempt: what the contributor recorded.
        program: it knows the direction.
        tolerance: how much better than the baseline it must be, and more.
        bar: the best accepted metric so far.
    """
    baseline, runs = attempt.baseline_metric, attempt.runs
    several = len(runs) >= 3
    metric = mean(runs) if several and all(map(math.isfinite, runs)) else attempt.metric
    if baseline is None or not all(map(math.isfinite, (metric, baseline, *runs))):
        return False
    higher = program.metric_direction == "higher_is_better"
    better, worse = (metric, baseline) if higher else (baseline, metric)
    worst_falls_behind = several and any(program.is_better(baseline, run) for run in runs)
    behind_bar = bar is not None and program.is_better(bar, metric)
    return exceeds(better, worse, tolerance) > 0 and not worst_falls_behind and not behind_bar


def exceeds(better: float, worse: float, tolerance: float) -> Decimal:
    """Return by how much a difference is over the tolerance, in the decimals that people wrote.

    1.01 is exactly 0.01 better than 1.00, which binary fractions would deny.

    Args:
        better: the larger number.
        worse: the smaller one.
        tolerance: what a difference may be.
    """
    return Decimal(repr(better)) - Decimal(repr(worse)) - Decimal(repr(tolerance))
