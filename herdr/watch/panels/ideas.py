"""The ideas that may still run, and the keys that move them, make them more urgent, or reach their agents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from textual.content import Content

from herdr.campaign.text import first_line
from herdr.contract.words import IdeaStatus
from herdr.ops.idea.editing import PrioritiseIdea
from herdr.ops.idea.moving import ApproveIdea, MoveIdea, ParkIdea, ReadyIdea, RejectIdea
from herdr.ops.idea.reading import IdeaList, ListIdeas, ShowIdea
from herdr.ops.views import IdeaView
from herdr.watch.desk import Desk
from herdr.watch.feed import Feed
from herdr.watch.page import Page
from herdr.watch.panel import LIMIT, Deed, Key, Panel
from herdr.watch.row import COLOURS, FAINT, LINE, Row, coloured, short_ref

from .agents import attach, steer

OPEN: tuple[IdeaStatus, ...] = ("seed", "proposed", "ready", "scheduled", "parked")
AN_IDEA = "an idea (3)"


class IdeasPanel(Panel[IdeaList, IdeaView]):
    """The ideas that may still run, seeds first, with what they wait for."""

    part = "ideas"
    number = 3
    legend = "ideas, seeds first"
    empty = 'no open ideas: piloop idea add "what to try"'
    keys = (
        Key(
            names="y",
            shown="y",
            deed="approve",
            wants=AN_IDEA,
            short="approve",
            text="approve a proposed idea; have a parked one run after all",
        ),
        Key(names="p", shown="p", deed="park", wants=AN_IDEA, short="park", text="park the idea"),
        Key(names="x", shown="x", deed="reject", wants=AN_IDEA, short="reject", text="reject the idea"),
        Key(
            names="plus,equals_sign", shown="+", deed="more_urgent", wants=AN_IDEA,
            text="make the idea more urgent",
        ),
        Key(
            names="minus", shown="-", deed="less_urgent", wants=AN_IDEA, short="priority",
            text="make the idea less urgent",
        ),
    )  # fmt: skip

    @property
    def deeds(self) -> Mapping[str, Deed[IdeaView]]:
        """Move it, change its priority, or reach the agent that tries it."""
        return {
            "approve": _approve,
            "park": partial(_move, move=ParkIdea),
            "reject": partial(_move, move=RejectIdea),
            "more_urgent": partial(_prioritise, by=-1),
            "less_urgent": partial(_prioritise, by=1),
            "steer": steer,
            "attach": attach,
        }

    def question(self, project: str) -> ListIdeas:
        """The ideas of the project that have not ended."""
        return ListIdeas(project=project, limit=LIMIT, status=OPEN)

    def rows(self, answer: IdeaList, _now: datetime) -> list[Row[IdeaView]]:
        """A row for each idea."""
        return [Row(ref=one.ref, text=_line(one), what=one) for one in answer.ideas]

    def left_out(self, answer: IdeaList) -> int:
        """How many more ideas there are."""
        return answer.left_out

    async def describe(self, row: Row[IdeaView], page: Page, feed: Feed) -> None:
        """The idea with its links, runs and comments."""
        shown = await feed.ask(ShowIdea(idea=row.ref))
        idea, links = shown.idea, shown.links
        page.title(f"{idea.ref}: {idea.title}")
        page.fact("status", idea.status)
        page.fact("waits for", idea.blocked_by)
        page.fact("will not run", idea.lost)
        page.fact("priority", idea.priority)
        page.fact("harness", idea.harness)
        page.fact("model", idea.model)
        page.fact("base", idea.base)
        page.fact("attempts", idea.attempts)
        page.fact("family", idea.family)
        page.fact("from", idea.provenance)
        page.fact("filed", f"{page.age(idea.created_at)} ago by {idea.source}")
        page.fact("after", links.after)
        page.fact("before", links.before)
        page.fact("supersedes", links.supersedes)
        page.fact("superseded by", links.superseded_by)
        page.text("Hypothesis", idea.hypothesis)
        page.text("Plan", idea.plan)
        if shown.runs:
            page.heading("Runs")
        for run in shown.runs:
            page.line(run.ref, f"{run.state} {run.harness} {run.detail or ''}")
        page.comments(shown.comments)


def _line(one: IdeaView) -> Content:
    waits = f" (after {', '.join(one.blocked_by)})" if one.blocked_by else ""
    if one.lost:
        waits = f" (blocked: {', '.join(one.lost)} will not run)"
    return Content.assemble(
        coloured(one.status, size=9),
        (f" P{one.priority} ", COLOURS.get(f"P{one.priority}", "")),
        (short_ref(one.ref), FAINT),
        (waits, COLOURS["P1"] if one.lost else FAINT),
        f" {first_line(one.title, LINE)}",
    )


async def _approve(desk: Desk, row: Row[IdeaView]) -> str:
    """Approve a proposed idea; one that was set aside is made ready, which is another operation."""
    aside = row.what.status in ("parked", "rejected")
    return await _move(desk, row, move=ReadyIdea if aside else ApproveIdea)


async def _move(desk: Desk, row: Row[IdeaView], *, move: type[MoveIdea]) -> str:
    verb = move.operation.partition(".")[2]
    reason = await desk.question(f"why {verb} {row.ref}?", hint="enter: no reason, esc: leave it")
    if reason is None:
        return ""
    moved = await desk.feed.ask(move(idea=row.ref, reason=reason or None))
    goes_on = f"; {moved.run} goes on" if moved.run else ""
    return f"{moved.ref}: {moved.old} → {moved.status}{goes_on}"


async def _prioritise(desk: Desk, row: Row[IdeaView], *, by: int) -> str:
    before = row.what.priority
    priority = min(max(before + by, 0), 4)
    if priority == before:
        return f"{row.ref} is P{before} already; 0 is the most urgent, 4 the least"
    await desk.feed.ask(PrioritiseIdea(idea=row.ref, priority=priority))
    return f"{row.ref}: P{before} → P{priority}"
