"""What commands print: tables and facts for people, JSON for programs."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
import msgspec

from herdr.campaign.text import first_line
from herdr.printing.values import visible

GAP = "  "
#: A cell that is cut keeps at least this much.
NARROWEST = 20

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """`--json`, as every command that reads has it."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def print_json(data: object) -> None:
    """Print data as JSON, indented."""
    click.echo(msgspec.json.format(msgspec.json.encode(data), indent=2).decode())


def print_table(rows: Sequence[Sequence[str]], heads: Sequence[str], *, indent: str = "") -> None:
    """Print aligned columns; on a terminal the last one is cut to its width, elsewhere nothing is.

    Args:
        rows: the cells, each row as long as `heads`.
        heads: the titles of the columns.
        indent: what stands before each line.
    """
    cells = [list(heads), *([first_line(cell, 10_000) for cell in row] for row in rows)]
    last = len(heads) - 1
    widths = [max(width(row[column]) for row in cells) for column in range(last)]
    room = None
    if sys.stdout.isatty():
        left = shutil.get_terminal_size().columns - len(indent) - sum(widths) - len(GAP) * last
        room = max(NARROWEST, left)
    for row in cells:
        padded = [pad(cell, size) for cell, size in zip(row[:last], widths, strict=True)]
        tail = row[last] if room is None else first_line(row[last], room)
        click.echo(f"{indent}{GAP.join([*padded, tail])}".rstrip())


def print_facts(facts: Sequence[tuple[str, object]]) -> None:
    """Print `name  value` lines for what has a value."""
    present = [(name, value) for name, value in facts if value not in (None, "", [], {})]
    size = max((len(name) for name, _ in present), default=0)
    for name, value in present:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        click.echo(f"{name:<{size}}  {first_line(text, 10_000)}")


def print_text(title: str, text: str | None) -> None:
    """Print a text of several lines under its title.

    Args:
        title: one line.
        text: what stands below it; nothing is printed when there is none.
    """
    if text:
        click.echo(f"\n{title}")
        click.echo("\n".join(f"  {line}" for line in visible(text).splitlines()))


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text
    )


def pad(text: str, size: int) -> str:
    """A text with blanks up to a width.

    Args:
        text: any text.
        size: columns of the terminal; a longer text stays as it is.
    """
    return text + " " * (size - width(text))
