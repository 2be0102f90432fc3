"""Comments: added by whoever may, listed and shown."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from herdr.campaign.text import ref
from herdr.errors import RefusedError, UsageError
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.look import look, look_target, text_of
from herdr.ops.views import CommentView, comment_view, target_name
from herdr.store.rows import Candidate, Comment, Run, fetch, get, insert

#: How urgent an escalation is when nobody says.
DEFAULT_PRIORITY = 2

Kind = Literal["note", "finding", "decision", "escalation"]


class Add(Request, frozen=True, kw_only=True):
    """A comment on a project, idea, run, candidate, agent or comment."""

    target: str
    body: str
    kind: Kind = "note"
    priority: Annotated[int, msgspec.Meta(ge=0, le=4)] | None = None


class ListThem(Request, frozen=True, kw_only=True):
    """Which comments to list: those on one thing, else the newest of a project."""

    target: str | None = None
    project: str | None = None
    kind: tuple[Kind, ...] = ()
    limit: Annotated[int, msgspec.Meta(ge=1)] = 50


class Which(Request, frozen=True, kw_only=True):
    """One comment."""

    comment: str


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """The new comment."""

    ref: str
    target: str
    kind: str


@operation("comment.add", Add, writes=True)
def add(context: Context, request: Add) -> Added:
    """Say something about a thing.

    Raises:
        UsageError: it names nothing, is empty, or a priority does not fit.
        RefusedError: a worker speaks of what is not its own, or decides.
    """
    kind, number, project_id = look_target(context, request.target)
    body = text_of(request.body, "a comment")
    if not body:
        raise UsageError("the comment is empty", fix="say something, or pipe it in: piloop comment add TARGET -")
    if request.priority is not None and request.kind != "escalation":
        raise UsageError(
            "only an escalation has a priority", fix="add --kind escalation, or leave --priority out"
        )
    _check_worker(context, request.kind, kind, number)
    comment_id = insert(
        context.conn,
        Comment,
        {
            "project_id": project_id,
            "target_kind": kind,
            "target_id": number,
            "kind": request.kind,
            "body": body,
            "priority": _priority(request),
            "actor": context.actor,
        },
    )
    name = target_name(context.conn, kind, number)
    return Added(ref=ref("comment", comment_id), target=name or "", kind=request.kind)


def _priority(request: Add) -> int | None:
    if request.kind != "escalation":
        return None
    return DEFAULT_PRIORITY if request.priority is None else request.priority


def _check_worker(context: Context, said: Kind, kind: str, number: int) -> None:
    """A worker speaks of its own run, its idea and its run's candidates, and decides nothing (DESIGN §9)."""
    agent = context.agent
    if agent is None:
        return
    if said == "decision":
        raise RefusedError(f"{context.actor} may not decide", fix="leave a note or a finding; a person decides")
    if agent.role != "worker" or agent.run_id is None:
        return
    run = get(context.conn, Run, agent.run_id)
    if (kind, number) in (("run", run.id), ("idea", run.idea_id)):
        return
    if kind == "candidate" and _made_by(context, run, number):
        return
    own = f"{ref('run', run.id)}, {ref('idea', run.idea_id)}"
    raise RefusedError(
        f"{context.actor} may comment only on {own} and its own candidates",
        fix=f"comment on {ref('run', run.id)}",
    )


def _made_by(context: Context, run: Run, candidate_id: int) -> bool:
    if get(context.conn, Candidate, candidate_id).run_id == run.id:
        return True
    made = "SELECT 1 FROM run_commits WHERE run_id = ? AND candidate_id = ?"
    return context.conn.execute(made, (run.id, candidate_id)).fetchone() is not None


@operation("comment.list", ListThem)
def list_comments(context: Context, request: ListThem) -> list[CommentView]:
    """List the newest comments, oldest first."""
    target: tuple[str | None, int | None]
    if request.target is not None:
        kind, number, _ = look_target(context, request.target)
        target, project_id = (kind, number), None
    else:
        target, project_id = (None, None), project_of(context, request.project).id
    kinds = " ".join(request.kind)
    found = fetch(
        context.conn,
        Comment,
        "WHERE (project_id = ? OR (target_kind = ? AND target_id = ?))"
        " AND (? = '' OR instr(?, kind)) ORDER BY id DESC LIMIT ?",
        *(project_id, *target, kinds, kinds, request.limit),
    )
    return [comment_view(context.conn, comment) for comment in found[::-1]]


@operation("comment.show", Which)
def show(context: Context, request: Which) -> CommentView:
    """Show one comment whole."""
    return comment_view(context.conn, look(context, Comment, request.comment))
