"""What a deed works with: it asks operations, asks the person for a text, and says what came of it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from herdr.home import Home
    from herdr.mux.attach import Attach

    from .feed import Feed


class Desk(Protocol):
    """What a deed works with; the screen is one."""

    feed: Feed
    home: Home

    def say(self, text: str) -> None:
        """Show a sentence."""

    async def question(self, text: str, *, hint: str = "") -> str | None:
        """Ask for a line; None when it is given up.

        Args:
            text: what is asked.
            hint: is shown where the line will be typed.
        """

    def agent_of(self, ref: str) -> str | None:
        """The live agent that is called `ref`, or that tries the idea of that name."""

    def later(self, sentence: Coroutine[Any, Any, str]) -> None:
        """Say a sentence when it is known."""

    def lend_terminal(self, plan: Attach) -> None:
        """Leave the terminal to a program until it ends."""
