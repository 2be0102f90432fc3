"""The line at the bottom that says what came of a key, and asks when a key needs a text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Input, Label

from herdr.campaign.text import first_line

LENGTH = 1000


class Bar(Horizontal):
    """Says one thing, or asks one."""

    def __init__(self) -> None:
        super().__init__(id="bar")
        self._answer: asyncio.Future[str | None] | None = None
        self._typed: Callable[[str], None] | None = None

    def compose(self) -> ComposeResult:
        """A text, and the field that is only there while something is asked."""
        yield Label(id="said")
        yield Input(compact=True, select_on_focus=False, id="field")

    def say(self, text: str, *, error: bool = False) -> None:
        """Say something until the next thing is said; not while a question stands there.

        Args:
            text: what to say.
            error: whether it tells of something that went wrong.
        """
        if self._answer is None:
            said = self.query_one("#said", Label)
            said.set_class(error, "error")
            said.update(Content(first_line(text, LENGTH)))

    async def question(
        self, text: str, *, value: str = "", hint: str = "", typed: Callable[[str], None] | None = None
    ) -> str | None:
        """Ask for a line.

        Args:
            text: what is asked.
            value: what stands in the field at first.
            hint: what is shown there while it is empty.
            typed: is told what stands there, at each key.

        Returns:
            What was typed, without blanks around it; None when it was given up with esc.
        """
        self.give_up()
        self._answer = None
        self.say(text)
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._typed = typed
        field = self.query_one(Input)
        field.value, field.placeholder = value, hint
        field.cursor_position = len(value)
        before = self.screen.focused
        self.add_class("asking")
        self.screen.set_focus(field)
        try:
            return await answer
        finally:
            # Another question may stand there by now.
            if self._answer is answer:
                self._answer = self._typed = None
                self.remove_class("asking")
                self.say("")
                self.screen.set_focus(before)

    def give_up(self) -> bool:
        """End the question without an answer; says whether there was one."""
        asked = self._answer is not None
        self._end(None)
        return asked

    def _end(self, answer: str | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._end(event.value.strip())

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._typed is not None and self._answer is not None:
            self._typed(event.value)
