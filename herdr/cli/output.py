"""Plain text for people: tables, times, numbers; and JSON for programs."""

from __future__ import annotations

import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any, TypeVar

import click
import msgspec

from herdr.campaign.text import first_line

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
    """Print aligned columns; on a terminal the last one is cut to its width, elsewhere nothing is."""
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
    """Print a text of several lines under its title."""
    if text:
        click.echo(f"\n{title}")
        click.echo("\n".join(f"  {line}" for line in visible(text).splitlines()))


def visible(text: str) -> str:
    """A text of several lines without what would command the terminal."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable())


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(
        2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text
    )


def pad(text: str, size: int) -> str:
    """A text with blanks up to a width."""
    return text + " " * (size - width(text))


def number(value: float | None, sign: str = "") -> str:
    """A metric's value for reading: six digits, whole numbers to the last one; `sign` "+" shows it always."""
    if value is None:
        return ""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:{sign}.0f}"
    return f"{value:{sign}.6g}"


def percent(share: float | None) -> str:
    """A share of one as a percentage with its sign."""
    return "" if share is None else f"{share * 100:+.3g} %"


def ago(stamp: str | None) -> str:
    """How long ago a time of the store was, in one unit."""
    if stamp is None:
        return ""
    then = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return span((datetime.now(timezone.utc) - then).total_seconds())


def span(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size or (unit == "min" and seconds >= size):
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def size_of(count: int) -> str:
    """A number of bytes for reading."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} TB"


def several(count: int, word: str) -> str:
    """`1 agent`, `2 agents`."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def counts(found: dict[str, int]) -> str:
    """`3 succeeded, 1 failed`."""
    return ", ".join(f"{count} {word.replace('_', ' ')}" for word, count in found.items())
