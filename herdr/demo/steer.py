"""Sends the demo's agent that waits for a message one message, as `piloop prompt` does."""

from __future__ import annotations

from collections.abc import Callable

from herdr.contract.words import MessageState
from herdr.errors import RefusedError
from herdr.ops.client import Client
from herdr.ops.message import SendMessage, ShowMessage
from herdr.ops.views import MessageView

from .ideas import IDEAS
from .scene import Scene

OPEN: tuple[MessageState, ...] = ("queued", "typed")


class Steer:
    """Sends one message to one agent, and says what became of it."""

    def __init__(self, client: Client, say: Callable[[str], None]) -> None:
        self._client = client
        self._say = say
        self._idea = next(idea for idea in IDEAS if idea.steer is not None)
        self._message: MessageView | None = None
        self._told = False

    def look(self, scene: Scene) -> None:
        """Send the message once its agent waits, and tell when it has arrived, or that it will not."""
        if self._message is None:
            self._send(scene)
        elif not self._told:
            self._message = self._client.ask(ShowMessage(message=self._message.id))
            if self._message.state not in OPEN:
                self._told = True
                why = f" ({self._message.detail})" if self._message.detail else ""
                said = "received it" if self._message.state == "received" else self._message.state
                self._say(f"{self._message.agent} {said}{why}")

    def _send(self, scene: Scene) -> None:
        ref = next(idea.ref for idea in scene.ideas if idea.title == self._idea.title)
        agent = scene.agent_at_work(ref)
        if agent is None or agent.state != "idle":
            return
        assert self._idea.steer is not None
        self._say(f'$ piloop prompt {agent.ref} "{self._idea.steer}"')
        try:
            self._message = self._client.ask(SendMessage(agent=agent.ref, text=self._idea.steer))
        except RefusedError as refusal:
            self._say(refusal.message)
