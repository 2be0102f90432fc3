"""Which commit `piloop apply` hands to the user."""

from __future__ import annotations

import msgspec

from herdr.campaign.text import ref
from herdr.contract.words import VerdictWord
from herdr.errors import RefusedError
from herdr.ops.core import PEOPLE, Context, Request, operation, project_of
from herdr.ops.look import look, root_of
from herdr.store.rows import Candidate, Project, get


class CommitFound(msgspec.Struct, frozen=True, kw_only=True):
    """The commit to hand over."""

    candidate: str
    commit: str
    subject: str
    verdict: VerdictWord | None
    is_head: bool
    project: str
    root: str


class FindCommit(Request[CommitFound], frozen=True, kw_only=True):
    """A candidate, or the head of a project."""

    operation = "apply.find"
    project: str | None = None
    candidate: str | None = None


@operation(FindCommit, who=PEOPLE)
def find_commit(context: Context, request: FindCommit) -> CommitFound:
    """Find the commit of a candidate, or of the head.

    Raises:
        RefusedError: the project has no head yet.
    """
    if request.candidate is not None:
        candidate = look(context, Candidate, request.candidate)
        project = get(context.conn, Project, candidate.project_id)
    else:
        project = project_of(context, request.project, writing=True)
        if project.head_id is None:
            raise RefusedError(f"{project.name} has no head yet", fix="run `herdr init` in its repo")
        candidate = get(context.conn, Candidate, project.head_id)
    return CommitFound(
        candidate=ref("candidate", candidate.id),
        commit=candidate.commit_sha,
        subject=candidate.subject,
        verdict=candidate.verdict,
        is_head=candidate.id == project.head_id,
        project=project.name,
        root=str(root_of(project)),
    )
