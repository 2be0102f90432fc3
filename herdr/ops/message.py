"""Messages from people to running agents."""

from __future__ import annotations

from herdr.campaign.text import ref
from herdr.errors import RefusedError, UsageError
from herdr.ops.core import PEOPLE, Context, Request, operation
from herdr.ops.look import look_agent, text_of
from herdr.ops.stored_config import in_background
from herdr.ops.views import MessageView, message_view
from herdr.runtime.api import CANNOT_RECEIVE
from herdr.store.rows import Agent, Message, Project, Run, get, get_or_none


class SendMessage(Request[MessageView], frozen=True, kw_only=True):
    """A text for an agent."""

    operation = "message.send"
    agent: str
    text: str


class ShowMessage(Request[MessageView], frozen=True, kw_only=True):
    """One message, by its number."""

    operation = "message.get"
    message: int


@operation(SendMessage, who=PEOPLE, writes=True)
def send(context: Context, request: SendMessage) -> MessageView:
    """Queue a text for a live agent; the daemon types it as soon as it safely can.

    Raises:
        UsageError: there is no such agent, or the text is empty.
        RefusedError: the agent has ended, or cannot receive text.
    """
    agent = look_agent(context, request.agent)
    text = text_of(request.text, "a message")
    if not text:
        raise UsageError("the message is empty", fix='piloop prompt worker#3 "what to do"')
    if agent.state == "ended":
        raise RefusedError(f"{agent.name} has ended", fix="comment on its idea: the next run's brief carries it")
    if in_background(get(context.conn, Project, agent.project_id)):
        raise RefusedError(
            f"{agent.name} was told nothing: {CANNOT_RECEIVE}", fix=_comment_instead(context, agent)
        )
    message_id = Message.insert(context.conn, agent_id=agent.id, kind="prompt", body=text, actor=context.actor)
    return message_view(context.conn, get(context.conn, Message, message_id))


def _comment_instead(context: Context, agent: Agent) -> str:
    run = get_or_none(context.conn, Run, agent.run_id)
    target = ref("idea", run.idea_id) if run is not None else "project"
    return f'piloop comment add {target} "…"; or set runtime = "herdr" in piloop.toml'


@operation(ShowMessage, who=PEOPLE)
def get_message(context: Context, request: ShowMessage) -> MessageView:
    """Say where a message is."""
    message = get_or_none(context.conn, Message, request.message)
    if message is None:
        raise UsageError(f"there is no message {request.message}")
    return message_view(context.conn, message)
