"""What is drawn: candidates, how each verdict looks, and the best keep so far."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from herdr.contract.words import Direction


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate.

    Attributes:
        number: its id.
        value: of the primary metric; None when it has no score.
        verdict: None when it has not been judged.
        title: what it is.
        seconds: from the first candidate to this one.
        tokens: that all agents of the campaign had used by then.
    """

    number: int
    value: float | None
    verdict: str | None = None
    title: str = ""
    seconds: float = 0.0
    tokens: int = 0


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """How a verdict is drawn: a shape and a character, so that colour is never the only difference."""

    shape: str
    sign: str
    label: str


MARKS: dict[str | None, Mark] = {
    "keep": Mark(shape='<circle r="5.5"/>', sign="●", label="keep"),
    "interesting": Mark(shape='<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"/>', sign="◆", label="interesting"),
    "discard": Mark(shape='<circle r="4.5"/>', sign="○", label="discard"),
    "crash": Mark(shape='<path d="M-5-5 5 5M-5 5 5-5"/>', sign="✕", label="crash"),
    None: Mark(shape='<path d="M-4-4H4V4H-4z"/>', sign="□", label="not judged"),
}


def mark_of(point: Point) -> Mark:
    """How a candidate is drawn."""
    return MARKS.get(point.verdict, MARKS[None])


def used_marks(points: Sequence[Point]) -> list[Mark]:
    """The marks that a legend has to explain."""
    return [mark for mark in MARKS.values() if any(mark_of(point) is mark for point in points)]


def baseline_of(points: Sequence[Point]) -> float | None:
    """The value of the first keep."""
    return next((p.value for p in points if p.verdict == "keep" and p.value is not None), None)


def best_so_far(points: Sequence[Point], direction: Direction) -> list[tuple[int, float]]:
    """(index, value) of each keep that was better than all before.

    Args:
        points: the candidates, oldest first.
        direction: which way the metric improves.
    """
    best: list[tuple[int, float]] = []
    for index, point in enumerate(points):
        if point.verdict != "keep" or point.value is None:
            continue
        if not best or (point.value < best[-1][1] if direction == "lower" else point.value > best[-1][1]):
            best.append((index, point.value))
    return best


def headline(points: Sequence[Point], metric: str, direction: Direction) -> str:
    """From what value to what value the campaign has come.

    Args:
        points: the candidates, oldest first.
        metric: the name of the primary metric.
        direction: which way it improves.
    """
    best = best_so_far(points, direction)
    if not best:
        return f"{metric}: nothing kept yet"
    first, last = best[0][1], best[-1][1]
    gain = f" ({(last - first) / abs(first):+.1%})" if first else ""
    return f"{metric}: {number_text(first)} → {number_text(last)}{gain}"


def number_text(value: float) -> str:
    """A value as it is written at an axis."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
