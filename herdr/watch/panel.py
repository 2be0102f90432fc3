"""What all panels have in common: rows that stay where they are while their content changes, and a filter."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar, Generic, TypeAlias, TypeVar

import msgspec
from rich.style import Style
from textual.content import Content
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from .row import Row

if TYPE_CHECKING:
    from herdr.ops.core import Request

    from .desk import Desk
    from .feed import Feed, Part
    from .page import Page

A = TypeVar("A")
T = TypeVar("T")
#: What a key does to the selected row; it returns a sentence that says what came of it.
Deed: TypeAlias = "Callable[[Desk, Row[T]], Awaitable[str]]"

REVERSE = Style(reverse=True)
#: Rows that a panel holds at most.
LIMIT = 200


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key: as Textual names it, as people read it, what it does, and how the hints and the page of keys say so.

    `short` is what the hints at the bottom call it; without it they do not name it. A key with a `deed` does that
    to the selected row; `wants` says what a row must be for it.
    """

    names: str
    shown: str
    text: str
    short: str = ""
    action: str = ""
    deed: str = ""
    wants: str = ""


class Panel(OptionList, Generic[A, T]):
    """A list of rows: one for each `T` that is in the answer `A`.

    Each panel is a subclass, in a module of its own, which says what is asked, how the answer is drawn, what the
    detail of a row tells, and what keys do to a row.
    """

    part: ClassVar[Part]
    #: The key that goes to it, and how the page of keys explains it.
    number: ClassVar[int]
    legend: ClassVar[str]
    #: What it says when there is nothing.
    empty: ClassVar[str]
    #: The keys that its hints name.
    keys: ClassVar[tuple[Key, ...]] = ()

    def __init__(self) -> None:
        super().__init__(id=self.part)
        self.answer: A | None = None
        self.filter = ""
        self._rows: list[Row[T]] = []
        self._shown: list[Row[T]] = []
        self.entitle()

    # What each panel says for itself

    @property
    def deeds(self) -> Mapping[str, Deed[T]]:
        """What keys do to a row of this panel."""
        return {}

    def question(self, project: str) -> Request[A]:
        """What is asked to fill the panel."""
        raise NotImplementedError

    def rows(self, answer: A, now: datetime) -> list[Row[T]]:
        """Make rows of an answer.

        Args:
            answer: what came back for `question`.
            now: the time that ages are counted to.
        """
        raise NotImplementedError

    def left_out(self, answer: A) -> int:  # noqa: ARG002
        """How many more there are than the answer lists."""
        return 0

    async def describe(self, row: Row[T], page: Page, feed: Feed) -> None:
        """Write all that belongs to a row.

        Args:
            row: the row.
            page: where to write.
            feed: where to ask.

        Raises:
            HerdrError: it is not there any more.
        """
        raise NotImplementedError

    # What they have in common

    @property
    def row(self) -> Row[T] | None:
        """The selected row."""
        if self.highlighted is None or self.highlighted >= len(self._shown):
            return None
        return self._shown[self.highlighted]

    async def read(self, feed: Feed) -> None:
        """Ask again; `draw` shows what came back."""
        self.answer = await feed.ask(self.question(feed.project))

    def draw(self, now: datetime) -> None:
        """Show the latest answer, if there is one, with ages counted to `now`."""
        if self.answer is not None:
            self.show(self.rows(self.answer, now), self.left_out(self.answer))

    def do(self, name: str, desk: Desk) -> Awaitable[str] | None:
        """Begin a deed on the selected row; None when there is no row, or the panel has no such deed.

        Args:
            name: the deed.
            desk: what it works with.
        """
        row, deed = self.row, self.deeds.get(name)
        return deed(desk, row) if row is not None and deed is not None else None

    def entitle(self, more: str = "") -> None:
        """Set the title: the number, the name, and something after it."""
        words = f"{self.number} {self.part.capitalize()}"
        self.border_title = Content(f"{words} {more}".rstrip()).markup

    def show(self, rows: Sequence[Row[T]], left_out: int = 0) -> None:
        """Show rows; the selected one stays selected, wherever it is now.

        Args:
            rows: all of them; the filter is applied here.
            left_out: how many more there are.
        """
        self._rows = list(rows)
        count = f"{len(rows)}" if rows else ""
        more = f" of {len(rows) + left_out}" if left_out else ""
        self.border_subtitle = Content(f"/{self.filter}" if self.filter else f"{count}{more}").markup
        wanted = self.filter.casefold()
        self._draw([row for row in rows if wanted in row.text.plain.casefold()])

    def render_line(self, y: int) -> Strip:
        """The selected row in reverse, which shows on every terminal; a style sheet cannot say so of a row."""
        strip = super().render_line(y)
        selected = self.has_focus and self.row is not None and self.scroll_offset.y + y == self.highlighted
        return strip.apply_style(REVERSE) if selected else strip

    def narrow(self, text: str) -> None:
        """Show only the rows that hold a text."""
        self.filter = text
        self.show(self._rows)

    def _draw(self, rows: list[Row[T]]) -> None:
        before, self._shown = self._shown, rows
        if rows and [row.ref for row in rows] == [row.ref for row in before]:
            for index, (old, new) in enumerate(zip(before, rows, strict=True)):
                if old.text != new.text:
                    self.replace_option_prompt_at_index(index, new.text)
            return
        place = self.highlighted or 0
        selected = before[place].ref if place < len(before) else None
        options = [Option(row.text, id=row.ref) for row in rows]
        said = "nothing that holds this" if self.filter and self._rows else self.empty
        self.set_options(options or [Option(Content(said), disabled=True)])
        refs = [row.ref for row in rows]
        if rows:
            self.highlighted = refs.index(selected) if selected in refs else min(place, len(rows) - 1)
