"""One line of a panel: a mark that needs no colour, what the thing is called, and what it says."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from textual.content import Content

T = TypeVar("T")

#: Characters of a line; more than any terminal is wide.
LINE = 400
COLOURS = {
    "busy": "ansi_green", "blocked": "ansi_yellow bold", "failed_turn": "ansi_red", "starting": "ansi_cyan",
    "keep": "ansi_green", "interesting": "ansi_yellow", "crash": "ansi_red", "seed": "ansi_magenta",
    "proposed": "ansi_yellow", "scheduled": "ansi_green", "P0": "ansi_red bold", "P1": "ansi_yellow bold",
}  # fmt: skip
FAINT = "dim"


class Row(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One line of a panel: what it is called, how it is shown, and what of the answer it was made from."""

    ref: str
    text: Content
    what: T


def coloured(word: str, text: str | None = None, size: int = 0) -> tuple[str, str]:
    """A word in its colour, or another text in the colour of the word.

    Args:
        word: has the colour.
        text: is shown instead.
        size: columns to fill with blanks.
    """
    return (word if text is None else text).ljust(size), COLOURS.get(word, "")


def short_ref(ref: str) -> str:
    """The number of `idea#3` with its sign: `#3`; the panel says what it is a number of."""
    return f"#{ref.partition('#')[2]}"
