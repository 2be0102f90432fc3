"""The detail of the selected row, as a page that facts, texts and lists are written on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from textual.content import Content

from herdr.campaign.text import first_line
from herdr.ops.views import CommentView
from herdr.printing.values import ago, visible

from .row import FAINT, LINE

HEADING = "bold ansi_cyan"


class Page:
    """Collects facts, texts and lists, and gives them as one text.

    Args:
        now: the time that ages are counted to.
    """

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._parts: list[tuple[str, str]] = []

    def title(self, text: str) -> None:
        """Write the first line."""
        self._parts.append((f"{first_line(text, LINE)}\n", "bold"))

    def fact(self, name: str, value: object) -> None:
        """Write a line `name value`, if there is a value.

        Args:
            name: what it is.
            value: anything; a list is written with commas, and what is empty is left out.
        """
        if value in (None, "", [], {}):
            return
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        self._parts += [(f"{name} ", FAINT), (f"{first_line(text, LINE)}\n", "")]

    def text(self, heading: str, body: str | None) -> None:
        """Write `body`, a text of several lines, under a heading; nothing where there is no body.

        Args:
            heading: the line above it.
            body: the text; None, or an empty one, leaves out the heading too.
        """
        if body:
            self.heading(heading)
            self._parts.append((f"{visible(body).rstrip()}\n", ""))

    def heading(self, text: str) -> None:
        """Write a heading with a blank line before it."""
        self._parts.append((f"\n{text}\n", HEADING))

    def line(self, strong: str, text: str = "") -> None:
        """Write one line of a list.

        Args:
            strong: its first words, in bold.
            text: the rest.
        """
        self._parts += [(strong, "bold"), (f" {first_line(text, LINE)}\n", "")]

    def age(self, stamp: str | None) -> str:
        """How long ago a time of the store was."""
        return ago(stamp, self._now)

    def comments(self, comments: Sequence[CommentView]) -> None:
        """Write comments, whole, in their order, under a heading."""
        if comments:
            self.heading("Comments")
        for one in comments:
            self.comment(one)

    def comment(self, one: CommentView, depth: int = 0) -> None:
        """Write one comment, whole.

        Args:
            one: the comment.
            depth: how deep in its thread it is; a deeper one is further to the right.
        """
        inset = "  " * min(depth, 4)
        urgent = f" P{one.priority}" if one.priority is not None else ""
        said = f"{inset}{one.ref} {one.kind}{urgent} by {one.author}, {self.age(one.created_at)} ago"
        body = "\n".join(f"{inset}  {line}" for line in visible(one.body).splitlines())
        self._parts += [(f"{said}\n", FAINT), (f"{body}\n", "")]

    def content(self) -> Content:
        """All that was written."""
        return Content.assemble(*self._parts)
