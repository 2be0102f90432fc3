"""What keys do to the selected row: each asks an operation, and returns a sentence that says what came of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from herdr.errors import RefusedError
from herdr.home import Home

from .feed import Feed, Part
from .rows import Row

if TYPE_CHECKING:
    from herdr.mux.attach import Attach

#: Seconds between two looks at a message that is on its way.
LOOK = 0.1
FATE = {
    "received": "received it",
    "unconfirmed": "got it typed, but nothing shows that it was taken",
    "failed": "was told nothing",
}


class Desk(Protocol):
    """What a deed works with; the screen is one."""

    feed: Feed
    home: Home

    def say(self, text: str) -> None:
        """Show a sentence."""

    async def question(self, text: str, *, hint: str = "") -> str | None:
        """Ask for a line; None when it is given up."""

    def agent_of(self, row: Row) -> str | None:
        """The live agent that a row is, or that tries the idea that it is."""

    def later(self, sentence: Coroutine[Any, Any, str]) -> None:
        """Say a sentence when it is known."""

    def lend_terminal(self, plan: Attach) -> None:
        """Leave the terminal to a program until it ends."""


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """What a key does, and the panels where it can."""

    do: Callable[[Desk, Row], Awaitable[str]]
    panels: frozenset[Part]
    wants: str


async def _move(desk: Desk, row: Row, *, verb: str) -> str:
    operation = verb
    if verb == "approve" and row.what["status"] in ("parked", "rejected"):
        operation = "ready"
    reason = await desk.question(f"why {operation} {row.ref}?", hint="enter: no reason, esc: leave it")
    if reason is None:
        return ""
    moved = await desk.feed.ask(f"idea.{operation}", idea=row.ref, reason=reason or None)
    goes_on = f"; {moved['run']} goes on" if moved["run"] else ""
    return f"{moved['ref']}: {moved['old']} → {moved['status']}{goes_on}"


async def _prioritise(desk: Desk, row: Row, *, by: int) -> str:
    before = row.what["priority"]
    priority = min(max(before + by, 0), 4)
    if priority == before:
        return f"{row.ref} is P{before} already; 0 is the most urgent, 4 the least"
    await desk.feed.ask("idea.priority", idea=row.ref, priority=priority)
    return f"{row.ref}: P{before} → P{priority}"


async def _steer(desk: Desk, row: Row) -> str:
    from herdr.daemon.lock import daemon_pid

    agent = _agent(desk, row)
    if daemon_pid(desk.home) is None:
        raise RefusedError("the daemon is not running, so nobody types", fix="herdr up")
    text = await desk.question(f"to {agent}:")
    if not text:
        return ""
    message = await desk.feed.ask("message.send", agent=agent, text=text)
    desk.later(_fate(desk, message))
    return f"on its way to {agent}"


async def _fate(desk: Desk, message: dict[str, Any]) -> str:
    """Wait until a message has arrived, or cannot; says meanwhile what it waits for."""
    from herdr.daemon.lock import daemon_pid

    agent, said = message["agent"], None
    while message["state"] in ("queued", "typed"):
        if message["detail"] != said:
            said = message["detail"]
            desk.say(f"{agent} has not received it yet: {said}")
        if daemon_pid(desk.home) is None:
            return "the daemon ended meanwhile; the next one types it"
        await asyncio.sleep(LOOK)
        message = await desk.feed.ask("message.get", message=message["id"])
    how = f" ({message['detail']})" if message["detail"] else ""
    return f"{agent} {FATE[message['state']]}{how}"


async def _acknowledge(desk: Desk, row: Row) -> str:
    done = await desk.feed.ask("inbox.ack", comments=(row.ref,))
    return f"{row.ref} acknowledged" if done["comments"] else f"{row.ref} was acknowledged already"


async def _reply(desk: Desk, row: Row) -> str:
    text = await desk.question(f"answer to {row.ref}:")
    if not text:
        return ""
    added = await desk.feed.ask("inbox.reply", comment=row.ref, body=text)
    return f"{added['ref']} answers {row.ref}"


async def _attach(desk: Desk, row: Row) -> str:
    from herdr.control.sessions import turn_to
    from herdr.mux.attach import plan_attach

    agent = _agent(desk, row)
    server, session = await desk.feed.away(partial(turn_to, desk.home, agent))
    plan = plan_attach(server, session, os.environ)
    if plan.show:
        return f"this is a tmux of your own; outside of it: herdr attach {agent}"
    desk.lend_terminal(plan)
    return f"back from {agent}"


def _agent(desk: Desk, row: Row) -> str:
    agent = desk.agent_of(row)
    if agent is None:
        raise RefusedError(f"no agent works on {row.ref} now", fix="comment on it: the next brief carries it")
    return agent


IDEAS: frozenset[Part] = frozenset({"ideas"})
AGENTS: frozenset[Part] = frozenset({"agents", "ideas"})
INBOX: frozenset[Part] = frozenset({"inbox"})
DEEDS = {
    "approve": Deed(do=partial(_move, verb="approve"), panels=IDEAS, wants="an idea (3)"),
    "park": Deed(do=partial(_move, verb="park"), panels=IDEAS, wants="an idea (3)"),
    "reject": Deed(do=partial(_move, verb="reject"), panels=IDEAS, wants="an idea (3)"),
    "more_urgent": Deed(do=partial(_prioritise, by=-1), panels=IDEAS, wants="an idea (3)"),
    "less_urgent": Deed(do=partial(_prioritise, by=1), panels=IDEAS, wants="an idea (3)"),
    "steer": Deed(do=_steer, panels=AGENTS, wants="an agent (2) or its idea (3)"),
    "attach": Deed(do=_attach, panels=AGENTS, wants="an agent (2) or its idea (3)"),
    "acknowledge": Deed(do=_acknowledge, panels=INBOX, wants="a comment in the inbox (1)"),
    "reply": Deed(do=_reply, panels=INBOX, wants="a comment in the inbox (1)"),
}
