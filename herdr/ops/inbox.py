"""The inbox: seeds, ideas that wait for approval, and comments with a priority that nobody has acknowledged."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated

import msgspec

from herdr.campaign.text import ref
from herdr.contract.words import CommentKind, EventKind
from herdr.errors import UsageError
from herdr.ops.candidate.holding import decide
from herdr.ops.comment import AddComment, CommentAdded, Priority, add
from herdr.ops.core import PEOPLE, Context, Request, operation, projects_of
from herdr.ops.idea.reading import idea_views
from herdr.ops.look import look
from herdr.ops.views import CommentView, EventView, IdeaView, comment_view, event_views
from herdr.store.connection import Store
from herdr.store.rows import Comment, Event, Idea, fetch, get_or_none
from herdr.times import timestamp

#: What somebody who waits wants to be woken for; the events of comments and ideas are looked at more closely.
NEWS: tuple[EventKind, ...] = (
    "candidate.judged",
    "project.paused",
    "project.stopped",
    "launching.held",
    "launching.resumed",
)


class Inbox(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for somebody: seeds first, then proposed ideas, then comments, the most urgent first."""

    seeds: list[IdeaView]
    proposed: list[IdeaView]
    comments: list[CommentView]
    left_out: int
    cursor: int


class CommentsAcknowledged(msgspec.Struct, frozen=True, kw_only=True):
    """The comments that are acknowledged now and were not before."""

    comments: list[str]


class News(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, in order; going on after `cursor` misses nothing. `more`: there is more at once."""

    events: list[EventView]
    cursor: int
    more: bool


class ListInbox(Request[Inbox], frozen=True, kw_only=True):
    """Whose inbox: of one project, or of all when it could be any; `everything`: what was acknowledged too."""

    operation = "inbox.list"
    project: str | None = None
    kind: tuple[CommentKind, ...] = ()
    everything: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class AcknowledgeComments(Request[CommentsAcknowledged], frozen=True, kw_only=True):
    """Comments that were seen: these, or all of a project up to one."""

    operation = "inbox.ack"
    comments: tuple[str, ...] = ()
    up_to: str | None = None
    project: str | None = None


class ReplyToComment(Request[CommentAdded], frozen=True, kw_only=True):
    """An answer to a comment; it acknowledges it too."""

    operation = "inbox.reply"
    comment: str
    body: str
    kind: CommentKind = "decision"
    priority: Priority | None = None


class ReadNews(Request[News], frozen=True, kw_only=True):
    """What happened after an event; without one, only where to go on from."""

    operation = "inbox.news"
    after: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    project: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


@operation(ListInbox)
def list_inbox(context: Context, request: ListInbox) -> Inbox:
    """List what waits for somebody."""
    cursor = newest_event(context.conn)
    among = _among(context, request.project)
    open_only = "" if request.everything else " AND acked_at IS NULL"
    kinds = " ".join(request.kind)
    where = (
        "WHERE project_id IN (SELECT value FROM json_each(?)) AND priority IS NOT NULL"  # noqa: S608 - all ours
        f"{open_only} AND (? = '' OR instr(?, kind))"
    )
    arguments = (among, kinds, kinds)
    comments = fetch(context.conn, Comment, f"{where} ORDER BY priority, id LIMIT ?", *arguments, request.limit)
    total: int = context.conn.execute(f"SELECT count(*) FROM comments {where}", arguments).fetchone()[0]  # noqa: S608
    seeds, proposed = (_ideas(context.conn, among, status, request.limit) for status in ("seed", "proposed"))
    return Inbox(
        seeds=seeds if not request.kind else [],
        proposed=proposed if not request.kind else [],
        comments=[comment_view(context.conn, one) for one in comments],
        left_out=total - len(comments),
        cursor=cursor,
    )


def _ideas(conn: Store, among: str, status: str, limit: int) -> list[IdeaView]:
    where = "WHERE project_id IN (SELECT value FROM json_each(?)) AND status = ? ORDER BY priority, id LIMIT ?"
    return idea_views(conn, fetch(conn, Idea, where, among, status, limit))


def _among(context: Context, named: str | None) -> str:
    """The ids of the projects that are meant, as a JSON array."""
    return msgspec.json.encode([project.id for project in projects_of(context, named)]).decode()


@operation(AcknowledgeComments, who=PEOPLE, writes=True)
def acknowledge(context: Context, request: AcknowledgeComments) -> CommentsAcknowledged:
    """Take comments out of the inbox.

    Raises:
        UsageError: none was named, or one is not there.
    """
    if not request.comments and request.up_to is None:
        raise UsageError("no comment was named", fix="piloop inbox ack comment#N, or --up-to comment#N")
    wanted = [look(context, Comment, name) for name in request.comments]
    if request.up_to is not None:
        last = look(context, Comment, request.up_to)
        wanted += fetch(
            context.conn,
            Comment,
            "WHERE project_id = ? AND priority IS NOT NULL AND acked_at IS NULL AND id <= ?",
            *(last.project_id, last.id),
        )
    done = [one.id for one in {one.id: one for one in wanted}.values() if _acknowledge(context, one)]
    return CommentsAcknowledged(comments=[ref("comment", number) for number in sorted(done)])


@operation(ReplyToComment, who=PEOPLE, writes=True)
def reply(context: Context, request: ReplyToComment) -> CommentAdded:
    """Answer a comment in its thread, and acknowledge it and what it answers.

    The answer `remeasure` or `discard` decides on candidates whose verdict is held back.

    Raises:
        UsageError: there is no such comment, or the answer is empty.
    """
    comment = look(context, Comment, request.comment)
    answer = AddComment(
        target=ref("comment", comment.id), body=request.body, kind=request.kind, priority=request.priority
    )
    added = add(context, answer)
    decide(context, comment, request.body)
    answered: Comment | None = comment
    while answered is not None:
        _acknowledge(context, answered)
        above = answered.target_id if answered.target_kind == "comment" else None
        answered = get_or_none(context.conn, Comment, above)
    return added


@operation(ReadNews)
def news(context: Context, request: ReadNews) -> News:
    """Say what happened since, that somebody should know: see `NEWS`; what the asker did is no news.

    The ids of events grow in the order in which they are committed, because SQLite has one writer at a time: what
    is not there yet when this looks has a greater id than all that is.
    """
    newest = newest_event(context.conn)
    if request.after is None:
        return News(events=[], cursor=newest, more=False)
    among = _among(context, request.project)
    events = fetch(
        context.conn,
        Event,
        "WHERE id > ? AND id <= ? AND project_id IN (SELECT value FROM json_each(?)) AND actor <> ?"
        " AND (kind IN (SELECT value FROM json_each(?))"
        " OR (kind GLOB 'comment.*' AND json_extract(payload, '$.priority') IS NOT NULL)"
        " OR (kind = 'idea.added' AND json_extract(payload, '$.status') IN ('seed', 'proposed'))"
        " OR (kind = 'idea.status' AND json_extract(payload, '$.new') = 'proposed')"
        " OR (kind GLOB 'anomaly.*' AND json_extract(payload, '$.incident') = 1))"
        " ORDER BY id LIMIT ?",
        *(request.after, newest, among, context.actor, msgspec.json.encode(NEWS).decode(), request.limit + 1),
    )
    more = len(events) > request.limit
    found = events[: request.limit]
    return News(
        events=event_views(context.conn, found),
        cursor=found[-1].id if more else max(newest, request.after),
        more=more,
    )


def newest_event(conn: Store) -> int:
    """The id of the newest event."""
    number: int = conn.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
    return number


def _acknowledge(context: Context, comment: Comment) -> bool:
    if comment.acked_at is not None or comment.priority is None:
        return False
    now = timestamp(datetime.now(timezone.utc))
    Comment.update(context.conn, comment.id, acked_at=now, acked_by=context.actor)
    return True
