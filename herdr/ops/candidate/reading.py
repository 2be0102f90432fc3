"""Candidates: listed with their scores, shown, and compared."""

from __future__ import annotations

from typing import Annotated

import msgspec

from herdr.campaign.text import ref
from herdr.contract.words import Direction, VerdictWord
from herdr.errors import UsageError
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.look import look, root_of
from herdr.ops.views import CandidateView, CommentView, candidate_views, comments_about, primary_of
from herdr.store.rows import Candidate, Project, fetch, get

#: Characters of a diff; beyond it a person opens git, and an agent's context is full.
DIFF_LENGTH = 200_000


class CandidateList(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates, oldest first, and the metric that their values are of."""

    metric: str
    direction: Direction
    candidates: list[CandidateView]
    left_out: int


class CandidateShown(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate with all that belongs to it."""

    candidate: CandidateView
    project: str
    metric: str
    runs: list[str]
    comments: list[CommentView]


class CandidateDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What leads from one candidate to another; `command` shows all of it when it was cut."""

    old: str
    new: str
    text: str
    cut: bool
    command: str


class ListCandidates(Request[CandidateList], frozen=True, kw_only=True):
    """Which candidates to list: the newest of a project, with these verdicts or with any."""

    operation = "candidate.list"
    project: str | None = None
    verdict: tuple[VerdictWord, ...] = ()
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class ShowCandidate(Request[CandidateShown], frozen=True, kw_only=True):
    """One candidate."""

    operation = "candidate.show"
    candidate: str


class CompareCandidates(Request[CandidateDiff], frozen=True, kw_only=True):
    """A candidate to compare with its parent, or with another one."""

    operation = "candidate.diff"
    candidate: str
    against: str | None = None
    stat: bool = False


@operation(ListCandidates)
def list_candidates(context: Context, request: ListCandidates) -> CandidateList:
    """List the newest candidates of a project with their scores and verdicts."""
    project = project_of(context, request.project)
    verdicts = " ".join(request.verdict)
    chosen = "WHERE project_id = ? AND (? = '' OR instr(?, verdict))"
    arguments = (project.id, verdicts, verdicts)
    total: int = context.conn.execute(f"SELECT count(*) FROM candidates {chosen}", arguments).fetchone()[0]  # noqa: S608
    found = fetch(context.conn, Candidate, f"{chosen} ORDER BY id DESC LIMIT ?", *arguments, request.limit)
    primary = primary_of(project)
    return CandidateList(
        metric=primary.name,
        direction=primary.direction,
        candidates=candidate_views(context.conn, project, found[::-1]),
        left_out=total - len(found),
    )


@operation(ShowCandidate)
def show(context: Context, request: ShowCandidate) -> CandidateShown:
    """Show a candidate with its scores, the runs that made it and what was said about it."""
    candidate = look(context, Candidate, request.candidate)
    project = get(context.conn, Project, candidate.project_id)
    runs = context.conn.execute(
        "SELECT DISTINCT run_id FROM run_commits WHERE candidate_id = ? ORDER BY run_id", (candidate.id,)
    ).fetchall()
    return CandidateShown(
        candidate=candidate_views(context.conn, project, [candidate])[0],
        project=project.name,
        metric=primary_of(project).name,
        runs=[ref("run", row[0]) for row in runs],
        comments=comments_about(context.conn, "candidate", candidate.id),
    )


@operation(CompareCandidates)
def diff(context: Context, request: CompareCandidates) -> CandidateDiff:
    """Compare a candidate with its parent, or with another one of its project.

    Raises:
        UsageError: it has no parent and nothing else was named.
    """
    from herdr.repo.export import diff_text
    from herdr.repo.own import own_of

    candidate = look(context, Candidate, request.candidate)
    if request.against is not None:
        other = look(context, Candidate, request.against)
    elif candidate.parent_id is not None:
        other = get(context.conn, Candidate, candidate.parent_id)
    else:
        raise UsageError(
            f"{ref('candidate', candidate.id)} has no parent to compare with",
            fix="name one: --against candidate#N",
        )
    if other.project_id != candidate.project_id:
        raise UsageError("the two candidates belong to different projects", fix="name two of one project")
    project = get(context.conn, Project, candidate.project_id)
    root = root_of(project)
    own = own_of(context.home, root, project.name)
    text = diff_text(own, other.commit_sha, candidate.commit_sha, stat=request.stat)
    return CandidateDiff(
        old=ref("candidate", other.id),
        new=ref("candidate", candidate.id),
        text=text[:DIFF_LENGTH],
        cut=len(text) > DIFF_LENGTH,
        command=f"git -C {root} diff {other.commit_sha[:12]} {candidate.commit_sha[:12]}",
    )
