"""Messages on their way to one agent: in order, one at a time, typed at most once."""

from __future__ import annotations

from functools import partial

from herdr.contract.harness import Harness, LaunchContext
from herdr.contract.words import MessageState
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.harness.screen import read_screen
from herdr.mux.composer import may_stand
from herdr.mux.quote import clean
from herdr.mux.screen import Delivery
from herdr.runtime.api import Place
from herdr.store.columns import MessageChanges
from herdr.store.connection import Store
from herdr.store.queries import next_message
from herdr.store.rows import Agent, Message, find

NO_CHANNEL = "this harness takes no typed text; the next brief of the idea carries comments"


def has_waiting(store: Store, agent_id: int) -> bool:
    """Whether a message for this agent has not been typed yet."""
    sql = "SELECT 1 FROM messages WHERE agent_id = ? AND state = 'queued' LIMIT 1"
    return store.execute(sql, (agent_id,)).fetchone() is not None


async def deliver_next(
    app: AppContext, fleet: Fleet, agent: Agent, harness: Harness, context: LaunchContext, place: Place
) -> bool:
    """Try to deliver the oldest message that waits; says whether it is settled and the next one's turn comes.

    Args:
        app: the daemon.
        fleet: the project.
        agent: whom the message is for.
        harness: says how the agent's screen is read and how it takes text.
        context: the one that the agent was launched with, for the harness's own files.
        place: where the agent runs.
    """
    message = next_message(app.store, agent.id)
    if message is None:
        return False
    if not harness.send.accepts and fleet.runtime.mode == "interactive":
        write_state(app, message, "failed", NO_CHANNEL)
        return True
    if message.state == "queued" and (reason := await _unfinished(app, fleet, agent, harness, place)):
        return _settle(app, message, Delivery(state="waiting", detail=reason))
    rules = harness.send
    typed = clean(message.body, newline=rules.newline, disarm=rules.disarm, disarm_at=rules.disarm_at)
    evidence = partial(harness.received, context, typed)
    if message.state == "typed":
        # An earlier daemon typed it and was killed before it knew what became of it.
        delivery = await fleet.runtime.resume_send(
            place, message.body, screen=harness.screen, send=harness.send, evidence=evidence
        )
    else:
        delivery = await fleet.runtime.send(
            place,
            message.body,
            screen=harness.screen,
            send=harness.send,
            typing=partial(write_state, app, message, "typed"),
            evidence=evidence,
        )
    return _settle(app, message, delivery)


async def _unfinished(app: AppContext, fleet: Fleet, agent: Agent, harness: Harness, place: Place) -> str | None:
    """Why nothing may be typed yet: the text before was typed, is not confirmed, and may still stand there.

    Only in a program with an input line can a text be left standing; one that reads lines takes each by itself.
    """
    if harness.screen.composer is None:
        return None
    last = find(app.store, Message, "WHERE agent_id = ? AND typed_at NOT NULL ORDER BY id DESC", agent.id)
    screen = await fleet.runtime.screen(place) if last is not None and last.state == "unconfirmed" else None
    if last is None or screen is None or screen.dead:
        return None
    rules = harness.send
    typed = clean(last.body, newline=rules.newline, disarm=rules.disarm, disarm_at=rules.disarm_at)
    if not may_stand(read_screen(harness.screen, screen.text, screen.title), typed):
        return None
    return f"an earlier text may still stand in its input line ({last.detail}); empty it, or enter it there"


def _settle(app: AppContext, message: Message, delivery: Delivery) -> bool:
    if delivery.state == "waiting":
        if delivery.detail != message.detail:
            with app.transaction() as store:
                Message.update(store, message.id, detail=delivery.detail, actor=ACTOR)
        return False
    write_state(app, message, delivery.state, delivery.detail)
    return True


def write_state(app: AppContext, message: Message, state: MessageState, detail: str = "") -> None:
    """Write where a message is; `typed` is written before its first byte goes out.

    Args:
        app: the daemon.
        message: the message as it was before.
        state: where it is now.
        detail: why it waits or failed, or what is known of it, in words for a person.
    """
    values: MessageChanges = {"state": state, "detail": detail or None}
    if state == "typed":
        values["typed_at"] = app.timestamp()
    elif state == "received":
        values["received_at"] = app.timestamp()
    with app.transaction() as store:
        Message.update(store, message.id, **values, actor=ACTOR)


def close_messages(store: Store, agent_id: int) -> None:
    """Settle what an agent that has ended will never get: what was typed is unconfirmed, the rest has failed."""
    store.execute(
        "UPDATE messages SET state = 'unconfirmed', detail = 'the agent ended first', actor = ?"
        " WHERE agent_id = ? AND state = 'typed'",
        (ACTOR, agent_id),
    )
    store.execute(
        "UPDATE messages SET state = 'failed', detail = coalesce('never typed: ' || detail || '; ', '')"
        " || 'the agent has ended', actor = ? WHERE agent_id = ? AND state = 'queued'",
        (ACTOR, agent_id),
    )
