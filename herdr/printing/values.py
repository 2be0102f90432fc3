"""Numbers, times, sizes and texts for reading."""

from __future__ import annotations

from datetime import datetime, timezone


def visible(text: str) -> str:
    """A text of several lines without what would command the terminal."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable())


def number(value: float | None, sign: str = "") -> str:
    """The value of a metric for reading: six digits, whole numbers to the last one.

    Args:
        value: the number; None gives an empty text.
        sign: "+" shows the sign of a positive number too.
    """
    if value is None:
        return ""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:{sign}.0f}"
    return f"{value:{sign}.6g}"


def percent(share: float | None) -> str:
    """A share of one as a percentage with its sign."""
    return "" if share is None else f"{share * 100:+.3g} %"


def ago(stamp: str | None, now: datetime | None = None) -> str:
    """How long ago a time of the store was, in one unit.

    Args:
        stamp: the time; without one there is nothing to say.
        now: what to count to; None is this very moment.
    """
    if stamp is None:
        return ""
    then = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    return span(((now or datetime.now(timezone.utc)) - then).total_seconds())


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
    """`1 agent`, `2 agents`.

    Args:
        count: how many.
        word: what they are, in the singular.
    """
    return f"{count} {word}{'' if count == 1 else 's'}"


def counts(found: dict[str, int]) -> str:
    """`3 succeeded, 1 failed`."""
    return ", ".join(f"{count} {word.replace('_', ' ')}" for word, count in found.items())
