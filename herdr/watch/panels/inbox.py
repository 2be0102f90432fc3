"""The inbox: comments that wait for somebody, acknowledged or answered by a key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from textual.content import Content

from herdr.campaign.text import first_line
from herdr.ops.comment import ShowComment
from herdr.ops.inbox import AcknowledgeComments, Inbox, ListInbox, ReplyToComment
from herdr.ops.views import CommentView
from herdr.printing.values import ago
from herdr.watch.desk import Desk
from herdr.watch.feed import Feed
from herdr.watch.page import Page
from herdr.watch.panel import LIMIT, Deed, Key, Panel
from herdr.watch.row import FAINT, LINE, Row, coloured

A_COMMENT = "a comment in the inbox (1)"


class InboxPanel(Panel[Inbox, CommentView]):
    """The comments that wait for somebody, the most urgent first; seeds are among the ideas."""

    part = "inbox"
    number = 1
    legend = "inbox: comments that wait for somebody"
    empty = "nothing waits for you"
    keys = (
        Key(
            names="a",
            shown="a",
            deed="acknowledge",
            wants=A_COMMENT,
            short="acknowledge",
            text="take the comment out of the inbox",
        ),
        Key(
            names="r",
            shown="r",
            deed="reply",
            wants=A_COMMENT,
            short="reply",
            text="answer the comment, with a decision",
        ),
    )

    @property
    def deeds(self) -> Mapping[str, Deed[CommentView]]:
        """Take it out, or answer it."""
        return {"acknowledge": _acknowledge, "reply": _reply}

    def question(self, project: str) -> ListInbox:
        """The inbox of the project."""
        return ListInbox(project=project, limit=LIMIT)

    def rows(self, answer: Inbox, now: datetime) -> list[Row[CommentView]]:
        """A row for each comment."""
        return [Row(ref=one.ref, text=_line(one, now), what=one) for one in answer.comments]

    def left_out(self, answer: Inbox) -> int:
        """How many more comments there are."""
        return answer.left_out

    async def describe(self, row: Row[CommentView], page: Page, feed: Feed) -> None:
        """The comment with its thread."""
        shown = await feed.ask(ShowComment(comment=row.ref))
        page.title(f"{shown.ref}: {shown.kind} by {shown.author}")
        page.fact("on", shown.target)
        page.fact("about", shown.about if shown.about != shown.target else None)
        page.heading("Thread" if len(shown.thread) > 1 else "Text")
        for one in shown.thread:
            page.comment(one.comment, one.depth)


def _line(one: CommentView, now: datetime) -> Content:
    about = f" {one.about} {ago(one.created_at, now)}  "
    return Content.assemble(coloured(f"P{one.priority}"), (about, FAINT), first_line(one.body, LINE))


async def _acknowledge(desk: Desk, row: Row[CommentView]) -> str:
    done = await desk.feed.ask(AcknowledgeComments(comments=(row.ref,)))
    return f"{row.ref} acknowledged" if done.comments else f"{row.ref} was acknowledged already"


async def _reply(desk: Desk, row: Row[CommentView]) -> str:
    text = await desk.question(f"answer to {row.ref}:")
    if not text:
        return ""
    added = await desk.feed.ask(ReplyToComment(comment=row.ref, body=text))
    return f"{added.ref} answers {row.ref}"
