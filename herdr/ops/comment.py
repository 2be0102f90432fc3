"""Comments: added by whoever may, listed, and shown with their threads."""

from __future__ import annotations

from typing import Annotated

import msgspec

from herdr.campaign.text import ref
from herdr.contract.words import CommentKind
from herdr.errors import RefusedError, UsageError
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.look import look, look_target, text_of
from herdr.ops.stored_config import in_background
from herdr.ops.views import CommentView, comment_view, target_name
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Comment, Project, Run, fetch, find, get

#: How urgent an escalation is when nobody says.
DEFAULT_PRIORITY = 2
#: Comments of one thread that are shown.
THREAD = 500

Priority = Annotated[int, msgspec.Meta(ge=0, le=4)]


class CommentAdded(msgspec.Struct, frozen=True, kw_only=True):
    """The new comment. `unheard` says why the agent that runs for its target cannot be told of it."""

    ref: str
    target: str
    kind: CommentKind
    unheard: str | None = None


class InThread(msgspec.Struct, frozen=True, kw_only=True):
    """A comment of a thread; `depth` is 0 for its first one, 1 for the replies to that, and so on."""

    depth: int
    comment: CommentView


class CommentShown(CommentView, frozen=True, kw_only=True):
    """A comment and the whole thread that it belongs to, each reply below what it answers."""

    thread: list[InThread]


class AddComment(Request[CommentAdded], frozen=True, kw_only=True):
    """A comment on a project, idea, run, candidate, agent or comment; with a priority it is in the inbox."""

    operation = "comment.add"
    target: str
    body: str
    kind: CommentKind = "note"
    priority: Priority | None = None


class ListComments(Request[list[CommentView]], frozen=True, kw_only=True):
    """Which comments to list: those on one thing and in its threads, else the newest of a project."""

    operation = "comment.list"
    target: str | None = None
    project: str | None = None
    kind: tuple[CommentKind, ...] = ()
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 50


class ShowComment(Request[CommentShown], frozen=True, kw_only=True):
    """One comment."""

    operation = "comment.show"
    comment: str


@operation(AddComment, writes=True)
def add(context: Context, request: AddComment) -> CommentAdded:
    """Say something about a thing.

    Raises:
        UsageError: it names nothing, or is empty.
        RefusedError: a worker speaks of what is not its own, or decides.
    """
    kind, number, project_id = look_target(context, request.target)
    body = text_of(request.body, "a comment")
    if not body:
        raise UsageError("the comment is empty", fix="say something, or pipe it in: piloop comment add TARGET -")
    _check_agent(context, request.kind, kind, number)
    priority = request.priority
    if priority is None and request.kind == "escalation":
        priority = DEFAULT_PRIORITY
    comment_id = Comment.insert(
        context.conn,
        project_id=project_id,
        target_kind=kind,
        target_id=number,
        kind=request.kind,
        body=body,
        priority=priority,
        actor=context.actor,
    )
    name = target_name(context.conn, kind, number)
    unheard = _unheard(context, request.kind, kind, number)
    return CommentAdded(ref=ref("comment", comment_id), target=name or "", kind=request.kind, unheard=unheard)


def _unheard(context: Context, said: CommentKind, kind: str, number: int) -> str | None:
    """Why a comment that steers reaches no running agent (docs/ideas-seeds-runs.md, "Steer a running worker")."""
    if said == "escalation" or kind not in ("run", "idea") or context.agent is not None:
        return None
    where = "id" if kind == "run" else "idea_id"
    run = find(context.conn, Run, f"WHERE {where} = ? AND state = 'running'", number)
    if run is None or not in_background(get(context.conn, Project, run.project_id)):
        return None
    from herdr.runtime.api import CANNOT_RECEIVE

    return CANNOT_RECEIVE


def _check_agent(context: Context, said: CommentKind, kind: str, number: int) -> None:
    """No agent decides; a worker speaks of its own run, its idea and its run's candidates."""
    agent = context.agent
    if agent is None:
        return
    if said == "decision":
        raise RefusedError(f"{context.actor} may not decide", fix="leave a note or a finding; a person decides")
    if agent.role != "worker" or agent.run_id is None:
        return
    run = get(context.conn, Run, agent.run_id)
    if kind == "comment":
        first = get(context.conn, Comment, number)
        kind, number = first.about_kind or kind, first.about_id or number
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


@operation(ListComments)
def list_comments(context: Context, request: ListComments) -> list[CommentView]:
    """List the newest comments, oldest first."""
    where: tuple[str, tuple[object, ...]]
    if request.target is None:
        where = "project_id = ?", (project_of(context, request.project).id,)
    else:
        kind, number, _ = look_target(context, request.target)
        if kind == "comment":
            where = "id IN (SELECT value FROM json_each(?))", (_ids(_thread_of(context.conn, number)),)
        else:
            where = "about_kind = ? AND about_id = ?", (kind, number)
    kinds = " ".join(request.kind)
    found = fetch(
        context.conn,
        Comment,
        f"WHERE {where[0]} AND (? = '' OR instr(?, kind)) ORDER BY id DESC LIMIT ?",
        *(*where[1], kinds, kinds, request.limit),
    )
    return [comment_view(context.conn, comment) for comment in found[::-1]]


@operation(ShowComment)
def show(context: Context, request: ShowComment) -> CommentShown:
    """Show one comment whole, with its thread."""
    comment = look(context, Comment, request.comment)
    return shown(context.conn, comment)


def shown(conn: Store, comment: Comment) -> CommentShown:
    """A comment with its thread, whatever its place in it.

    Args:
        conn: the open store.
        comment: any of its thread.
    """
    depths = _thread_of(conn, first_of(conn, comment))
    rows = fetch(conn, Comment, "WHERE id IN (SELECT value FROM json_each(?))", _ids(depths))
    found = {one.id: one for one in rows}
    thread = [InThread(depth=depth, comment=comment_view(conn, found[one])) for one, depth in depths]
    return CommentShown(**msgspec.structs.asdict(comment_view(conn, comment)), thread=thread)


def first_of(conn: Store, comment: Comment) -> int:
    """The comment that a thread began with.

    Args:
        conn: the open store.
        comment: any of the thread.
    """
    number: int = conn.execute(
        "WITH RECURSIVE up (id, target_kind, target_id) AS ("
        " SELECT id, target_kind, target_id FROM comments WHERE id = ?"
        " UNION SELECT c.id, c.target_kind, c.target_id FROM up JOIN comments c ON c.id = up.target_id"
        " WHERE up.target_kind = 'comment') SELECT min(id) FROM up",
        (comment.id,),
    ).fetchone()[0]
    return number


def _thread_of(conn: Store, first: int) -> list[tuple[int, int]]:
    """The comments of a thread as (id, depth), each reply below what it answers."""
    rows = conn.execute(
        "WITH RECURSIVE down (id, depth) AS ("
        " SELECT ?, 0 UNION ALL SELECT c.id, down.depth + 1 FROM down JOIN comments c"
        " ON c.target_kind = 'comment' AND c.target_id = down.id ORDER BY 2 DESC, 1 LIMIT ?)"
        " SELECT id, depth FROM down",
        (first, THREAD),
    )
    return [(row[0], row[1]) for row in rows]


def _ids(depths: list[tuple[int, int]]) -> str:
    return msgspec.json.encode([number for number, _ in depths]).decode()
