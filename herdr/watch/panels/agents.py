"""The live agents: what they do, and the keys that send one a text or show its screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from datetime import datetime
from functools import partial

from textual.content import Content

from herdr.campaign.text import first_line
from herdr.contract.harness import AgentState
from herdr.contract.words import MessageState
from herdr.errors import RefusedError
from herdr.ops.message import SendMessage, ShowMessage
from herdr.ops.project import ShowLive
from herdr.ops.run import RunShown, ShowRun
from herdr.ops.status_snapshot import LiveAgent, LiveSnapshot
from herdr.ops.views import IdeaView, MessageView
from herdr.printing.values import ago
from herdr.watch.desk import Desk
from herdr.watch.feed import Feed
from herdr.watch.page import Page
from herdr.watch.panel import Deed, Key, Panel
from herdr.watch.row import FAINT, LINE, Row, coloured

MARKS: dict[AgentState, str] = {"busy": "●", "idle": "○", "blocked": "◐", "starting": "◌", "failed_turn": "✕"}
AN_AGENT = "an agent (2) or its idea (3)"
#: The latest of what an agent was told and what happened in its run.
LATEST = 8
#: Seconds between two looks at a message that is on its way.
LOOK = 0.1
FATE: dict[MessageState, str] = {
    "received": "received it",
    "unconfirmed": "got it typed, but nothing shows that it was taken",
    "failed": "was told nothing",
}


class AgentsPanel(Panel[LiveSnapshot, LiveAgent]):
    """The live agents, with what they tried last; its answer also holds what the header tells."""

    part = "agents"
    number = 2
    legend = "agents: ● busy ○ idle ◐ blocked ◌ starting ✕ failed · unknown"
    empty = "no agent lives"
    keys = (
        Key(
            names="s",
            shown="s",
            deed="steer",
            wants=AN_AGENT,
            short="steer",
            text="send a text to the agent, or to the one that tries the idea",
        ),
        Key(
            names="t",
            shown="t",
            deed="attach",
            wants=AN_AGENT,
            short="attach",
            text="look at the agent in tmux; Ctrl-b d comes back",
        ),
    )

    @property
    def deeds(self) -> Mapping[str, Deed[LiveAgent]]:
        """Send it a text, or look at it."""
        return {"steer": steer, "attach": attach}

    def question(self, project: str) -> ShowLive:
        """What changes from second to second."""
        return ShowLive(project=project)

    def rows(self, answer: LiveSnapshot, now: datetime) -> list[Row[LiveAgent]]:
        """A row for each agent."""
        return [Row(ref=one.agent.ref, text=_line(one, now), what=one) for one in answer.agents]

    async def describe(self, row: Row[LiveAgent], page: Page, feed: Feed) -> None:
        """The agent, and what happened in its run."""
        live, agent = row.what, row.what.agent
        shown: RunShown | None = None
        if agent.run:
            shown = await feed.ask(ShowRun(run=agent.run))
        page.title(f"{agent.ref}: {live.title or agent.role}")
        page.fact("state", f"{agent.state} for {page.age(live.since)}")
        page.fact("cause", _words(agent.cause, agent.detail))
        page.fact("works on", _words(agent.run or agent.sweep, live.idea))
        page.fact("harness", _words(agent.harness, agent.model))
        page.fact("launched", f"{page.age(agent.launched_at)} ago")
        page.fact("tokens", agent.tokens)
        page.text("Last line", agent.last_line)
        if live.waiting:
            page.text("A message waits", f"{live.waiting}\n{live.waiting_for or ''}")
        if shown is not None:
            _describe_run(shown, page)


def _describe_run(shown: RunShown, page: Page) -> None:
    if shown.messages:
        page.heading("Messages")
    for one in shown.messages[-LATEST:]:
        page.line(one.state, f"{one.body}{': ' + one.detail if one.detail else ''}")
    page.comments(shown.comments[-LATEST:])
    page.heading("What happened")
    for event in shown.events[-LATEST:]:
        page.line(f"{page.age(event.at)} ago", f"{event.kind} {event.target} by {event.actor}")


def _words(*words: str | None) -> str:
    return " ".join(filter(None, words))


def _line(one: LiveAgent, now: datetime) -> Content:
    agent = one.agent
    why = f" ({agent.cause})" if agent.cause else ""
    on = f" {one.idea}" if one.idea else ""
    return Content.assemble(
        coloured(agent.state, MARKS.get(agent.state, "·")),
        f" {agent.ref} ",
        coloured(agent.state),
        (f"{why} {ago(one.since, now)}{on}  ", FAINT),
        first_line(agent.last_line or "", LINE),
    )


async def steer(desk: Desk, row: Row[LiveAgent] | Row[IdeaView]) -> str:
    """Send a text to an agent; returns at once, and says later what became of the text.

    Args:
        desk: what it works with.
        row: the agent, or the idea that it tries.
    """
    from herdr.daemon.lock import daemon_pid

    agent = _agent_of(desk, row)
    if daemon_pid(desk.home) is None:
        raise RefusedError("the daemon is not running, so nobody types", fix="herdr up")
    text = await desk.question(f"to {agent}:")
    if not text:
        return ""
    message = await desk.feed.ask(SendMessage(agent=agent, text=text))
    desk.later(_fate(desk, message))
    return f"on its way to {agent}"


async def _fate(desk: Desk, message: MessageView) -> str:
    """Wait until a message has arrived, or cannot; says meanwhile what it waits for."""
    from herdr.daemon.lock import daemon_pid

    said = None
    while message.state in ("queued", "typed"):
        if message.detail != said:
            said = message.detail
            desk.say(f"{message.agent} has not received it yet: {said}")
        if daemon_pid(desk.home) is None:
            return "the daemon ended meanwhile; the next one types it"
        await asyncio.sleep(LOOK)
        message = await desk.feed.ask(ShowMessage(message=message.id))
    how = f" ({message.detail})" if message.detail else ""
    return f"{message.agent} {FATE[message.state]}{how}"


async def attach(desk: Desk, row: Row[LiveAgent] | Row[IdeaView]) -> str:
    """Show an agent's window in this terminal until the person leaves it.

    Args:
        desk: what it works with.
        row: the agent, or the idea that it tries.
    """
    from herdr.control.sessions import turn_to
    from herdr.mux.attach import plan_attach

    agent = _agent_of(desk, row)
    server, session = await desk.feed.away(partial(turn_to, desk.home, agent))
    plan = plan_attach(server, session, os.environ)
    if plan.show:
        return f"this is a tmux of your own; outside of it: herdr attach {agent}"
    desk.lend_terminal(plan)
    return f"back from {agent}"


def _agent_of(desk: Desk, row: Row[LiveAgent] | Row[IdeaView]) -> str:
    agent = desk.agent_of(row.ref)
    if agent is None:
        raise RefusedError(f"no agent works on {row.ref} now", fix="comment on it: the next brief carries it")
    return agent
