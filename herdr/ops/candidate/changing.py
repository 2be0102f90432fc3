"""What people do with candidates: import one, note one as a lead, measure it again, or overrule its verdict."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import msgspec

from herdr.campaign.moves import PEOPLE
from herdr.campaign.text import first_line, ref
from herdr.contract.words import VerdictWord
from herdr.errors import RefusedError, UsageError
from herdr.ops.candidate.holding import agree_to_linked
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.look import look, text_of
from herdr.ops.why import note as comment
from herdr.store.connection import Store
from herdr.store.queries import candidate_of_tree, score_under
from herdr.store.rows import Candidate, Comment, Measurement, Project, emit, find, get
from herdr.times import timestamp
from herdr.trunk import moves
from herdr.trunk.scores import want_score

#: Who may point out a starting point; a worker writes a `Piloop-Note:` trailer.
LEADERS = PEOPLE | {"research"}


class CommitImported(msgspec.Struct, frozen=True, kw_only=True):
    """The new candidate; it has a score once the daemon has measured it."""

    ref: str
    commit: str
    subject: str
    project: str


class CandidateNoted(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate with its verdict now, and the seeds that start from it."""

    ref: str
    verdict: VerdictWord | None
    seeds: list[str]


class CandidateJudged(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate, its verdict now, and the head now."""

    ref: str
    verdict: VerdictWord | None
    head: str | None


class ImportCommit(Request[CommitImported], frozen=True, kw_only=True):
    """A commit of the repo to start from: an id, a branch or a tag."""

    operation = "candidate.import"
    commit: str
    project: str | None = None
    summary: str | None = None


class NoteCandidate(Request[CandidateNoted], frozen=True, kw_only=True):
    """Why a candidate is worth starting from, and hunches to file as seeds that start from it."""

    operation = "candidate.note"
    candidate: str
    reason: str
    follow_up: tuple[str, ...] = ()


class RemeasureCandidate(Request[CandidateJudged], frozen=True, kw_only=True):
    """A candidate to score once more, and why."""

    operation = "candidate.remeasure"
    candidate: str
    reason: str


class OverruleVerdict(Request[CandidateJudged], frozen=True, kw_only=True):
    """A verdict that the daemon leaves alone, and why."""

    operation = "candidate.verdict"
    candidate: str
    verdict: VerdictWord
    reason: str


@operation(ImportCommit, who=LEADERS, writes=True)
def import_commit(context: Context, request: ImportCommit) -> CommitImported:
    """Register any commit of the repo as a starting point, as docs/ideas-seeds-runs.md says; it is never a keep.

    Raises:
        UsageError: git knows no such commit.
        RefusedError: its tree is a candidate already.
    """
    from herdr.repo.checks import resolve_commit
    from herdr.repo.commits import read_commit, tree_of
    from herdr.repo.own import own_of
    from herdr.repo.takeover import pin

    project = project_of(context, request.project)
    root = Path(project.path)
    own = own_of(context.home, root, project.name)
    commit = resolve_commit(root, request.commit)
    tree = tree_of(own, commit)
    known = candidate_of_tree(context.conn, project.id, tree)
    if known is not None:
        name = ref("candidate", known.id)
        raise RefusedError(f"{commit[:10]} is {name} already: it has the same files", fix=f"use --base {name}")
    said = text_of(request.summary, "a summary") if request.summary else read_commit(own, commit).subject
    subject = first_line(said, 500) or "(no message)"
    candidate_id = Candidate.insert(
        context.conn,
        project_id=project.id,
        tree_sha=tree,
        commit_sha=commit,
        subject=subject,
        origin="imported",
        actor=context.actor,
    )
    want_score(context.conn, project, candidate_id, context.actor)
    # Inside the transaction: a candidate whose commit git may prune would be worth nothing.
    pin(own, {f"{own.pins}candidate/{candidate_id}": commit})
    name = ref("candidate", candidate_id)
    return CommitImported(ref=name, commit=commit, subject=subject, project=project.name)


@operation(NoteCandidate, who=LEADERS, writes=True)
def note(context: Context, request: NoteCandidate) -> CandidateNoted:
    """Say that a candidate is worth starting from although it is no keep.

    A discarded one becomes interesting; one that is not judged yet will.
    """
    from herdr.ops.idea.filing import PlantSeed, seed

    candidate = look(context, Candidate, request.candidate)
    name, reason = ref("candidate", candidate.id), _reason(request.reason)
    moves.note(context.conn, candidate, reason, context.actor)
    comment(context, ("candidate", candidate.id), candidate.project_id, f"worth starting from: {reason}")
    project = get(context.conn, Project, candidate.project_id)
    named = project.name if context.agent is None else None
    seeds = [
        seed(context, PlantSeed(hunch=hunch, provenance=name, base=name, project=named)).ref
        for hunch in request.follow_up
    ]
    return CandidateNoted(ref=name, verdict=get(context.conn, Candidate, candidate.id).verdict, seeds=seeds)


@operation(RemeasureCandidate, who=PEOPLE, writes=True)
def remeasure(context: Context, request: RemeasureCandidate) -> CandidateJudged:
    """Have a candidate scored once more; the new score replaces the old one, and the daemon judges again by it.

    Raises:
        RefusedError: it is being scored already, or never is.
    """
    candidate = look(context, Candidate, request.candidate)
    name, reason = ref("candidate", candidate.id), _reason(request.reason)
    project = get(context.conn, Project, candidate.project_id)
    if candidate.origin == "skipped":
        raise RefusedError(f"{name} is scaffolding (Piloop-Eval: skip)", fix="commit it without that trailer")
    score_again(context, candidate)
    emit(
        context.conn,
        "candidate.remeasure",
        context.actor,
        project_id=project.id,
        target=("candidate", candidate.id),
        payload={"reason": reason},
    )
    comment(context, ("candidate", candidate.id), project.id, f"to be scored again: {reason}", decides=True)
    return _judged(context.conn, candidate.id)


def score_again(context: Context, candidate: Candidate) -> None:
    """Have a candidate scored and judged once more, by what is linked now; one that is held waits no longer.

    Args:
        context: who asks.
        candidate: the candidate.

    Raises:
        RefusedError: it is being scored.
    """
    project = get(context.conn, Project, candidate.project_id)
    current = score_under(context.conn, candidate.id, project.evaluator_id)
    # Of a candidate that waits for a person, what is being made says as little as what was made before.
    waits = candidate.held or _told(context, candidate)
    if current is not None and current.state != "done" and not waits:
        name = ref("candidate", candidate.id)
        raise RefusedError(f"{name} is being scored already ({current.state})", fix="wait until it is done")
    agree_to_linked(context, candidate)
    if current is not None and current.state != "queued":
        Measurement.update(context.conn, current.id, purpose="earlier", actor=context.actor)
    want_score(context.conn, project, candidate.id, context.actor)
    if candidate.held:
        moves.release(context.conn, candidate, context.actor)
    else:
        moves.want_judgement(context.conn, candidate, context.actor)


@operation(OverruleVerdict, who=PEOPLE, writes=True)
def overrule(context: Context, request: OverruleVerdict) -> CandidateJudged:
    """Give a candidate a verdict that the daemon never overwrites.

    A keep that was made from the head becomes the head; a head that is no keep any more hands over to the keep
    before it. Any other keep stays on a branch, to start from by `--base`.

    Raises:
        RefusedError: it is imported, or the only keep.
    """
    candidate = look(context, Candidate, request.candidate)
    name, reason = ref("candidate", candidate.id), _reason(request.reason)
    project = get(context.conn, Project, candidate.project_id)
    if candidate.origin == "imported":
        raise RefusedError(f"{name} is imported: a reference, never a keep", fix=f"start from it: --base {name}")
    by = moves.By(actor=context.actor, at=timestamp(datetime.now(timezone.utc)))
    moves.overrule(context.conn, candidate, request.verdict, reason, by)
    comment(context, ("candidate", candidate.id), project.id, f"{request.verdict}: {reason}", decides=True)
    return _judged(context.conn, candidate.id)


def _told(context: Context, candidate: Candidate) -> bool:
    """Whether a person was told that it cannot be scored, and has not acknowledged that."""
    open_one = (
        "WHERE target_kind = 'candidate' AND target_id = ? AND kind = 'escalation' AND actor = 'daemon'"
        " AND acked_at IS NULL"
    )
    return find(context.conn, Comment, open_one, candidate.id) is not None


def _reason(text: str) -> str:
    reason = text_of(text, "a reason")
    if not reason:
        raise UsageError("the reason is empty", fix="say why, for whoever looks next")
    return reason


def _judged(conn: Store, candidate_id: int) -> CandidateJudged:
    candidate = get(conn, Candidate, candidate_id)
    head = get(conn, Project, candidate.project_id).head_id
    return CandidateJudged(
        ref=ref("candidate", candidate_id),
        verdict=candidate.verdict,
        head=ref("candidate", head) if head is not None else None,
    )
