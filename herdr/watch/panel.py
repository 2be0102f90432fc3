"""One numbered panel: rows that stay where they are while their content changes, and a filter."""

from __future__ import annotations

from collections.abc import Sequence

from rich.style import Style
from textual.content import Content
from textual.strip import Strip
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from .feed import Part
from .rows import Row

REVERSE = Style(reverse=True)


class Panel(OptionList):
    """A list of rows.

    Args:
        part: what it shows.
        number: the key that goes to it.
        empty: what it says when there is nothing.
    """

    def __init__(self, part: Part, number: int, empty: str) -> None:
        super().__init__(id=part)
        self.part = part
        self.filter = ""
        self._words = f"{number} {part.capitalize()}"
        self._empty = empty
        self._rows: list[Row] = []
        self._shown: list[Row] = []
        self.entitle()

    @property
    def row(self) -> Row | None:
        """The selected row."""
        if self.highlighted is None or self.highlighted >= len(self._shown):
            return None
        return self._shown[self.highlighted]

    def entitle(self, more: str = "") -> None:
        """Set the title: the number, the name, and something after it."""
        self.border_title = Content(f"{self._words} {more}".rstrip()).markup

    def show(self, rows: Sequence[Row], left_out: int = 0) -> None:
        """Show rows; the selected one stays selected, wherever it is now."""
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

    def _draw(self, rows: list[Row]) -> None:
        before, self._shown = self._shown, rows
        if rows and [row.ref for row in rows] == [row.ref for row in before]:
            for index, (old, new) in enumerate(zip(before, rows, strict=True)):
                if old.text != new.text:
                    self.replace_option_prompt_at_index(index, new.text)
            return
        place = self.highlighted or 0
        selected = before[place].ref if place < len(before) else None
        options = [Option(row.text, id=row.ref) for row in rows]
        said = "nothing that holds this" if self.filter and self._rows else self._empty
        self.set_options(options or [Option(Content(said), disabled=True)])
        refs = [row.ref for row in rows]
        if rows:
            self.highlighted = refs.index(selected) if selected in refs else min(place, len(rows) - 1)
