"""The two axes of a plot: where values and candidates lie between its ends, and what is written there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from .points import Point

Over = Literal["candidates", "time", "tokens"]

#: Units of time, largest first, with the steps that people count them in.
UNITS = (
    ("d", 86_400.0, (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)),
    ("h", 3_600.0, (1, 2, 3, 6, 12)),
    ("min", 60.0, (1, 2, 5, 10, 20, 30)),
    ("s", 1.0, (1, 2, 5, 10, 20, 30)),
)
NAMES = {"candidates": "candidate", "time": "time", "tokens": "tokens used by the agents"}


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The values that the upright axis covers; what lies outside is drawn at its edge."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Where a value lies between the low end (0) and the high end (1)."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def contains(self, value: float) -> bool:
        """Whether the value lies inside."""
        return self.low <= value <= self.high


class Across(msgspec.Struct, frozen=True, kw_only=True):
    """The lying axis: its name, the place of each candidate from 0 to 1, and (place, label) of its ticks."""

    name: str
    places: tuple[float, ...]
    ticks: tuple[tuple[float, str], ...]


def scale_of(points: Sequence[Point]) -> Scale:
    """Cover the keeps and some room around them: one hopeless value must not flatten all others."""
    values = [point.value for point in points if point.value is not None]
    kept = [point.value for point in points if point.value is not None and point.verdict == "keep"]
    low, high = min(kept or values, default=0.0), max(kept or values, default=1.0)
    room = (high - low) / 2 or abs(high) / 20 or 1.0
    low, high = max(min(values, default=low), low - room), min(max(values, default=high), high + room)
    if low == high:
        low, high = low - room, high + room
    step = _step((high - low) / 5)
    first = math.ceil(low / step)
    ticks = tuple(step * n for n in range(first, math.floor(high / step) + 1))
    return Scale(low=low, high=high, ticks=ticks)


def across(points: Sequence[Point], over: Over, labels: int) -> Across:
    """Place the candidates.

    Args:
        points: the candidates, oldest first.
        over: what the axis counts.
        labels: how many fit below it.
    """
    if over == "candidates":
        last = max(len(points) - 1, 1)
        every = math.ceil(len(points) / max(labels, 1)) or 1
        shown = range(0, len(points), every)
        ticks = tuple((index / last, str(points[index].number)) for index in shown)
        return Across(name=NAMES[over], places=tuple(index / last for index in range(len(points))), ticks=ticks)
    amounts = [point.seconds if over == "time" else float(point.tokens) for point in points]
    end = max(amounts, default=0.0) or 1.0
    step, unit = _time_step(end / max(labels, 1)) if over == "time" else (_step(end / max(labels, 1)), "")
    counts = [step * n for n in range(math.floor(end / step) + 1)]
    ticks = tuple((count / end, _amount(count, unit)) for count in counts)
    return Across(name=NAMES[over], places=tuple(amount / end for amount in amounts), ticks=ticks)


def _step(rough: float) -> float:
    """The next of 1, 2, 5, 10, … times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough)


def _time_step(rough: float) -> tuple[float, str]:
    """The next step that people count time in, in seconds, and its unit."""
    steps = [(step * size, unit) for unit, size, several in reversed(UNITS) for step in several]
    return next((step for step in steps if step[0] >= rough), (_step(rough), "d"))


def _amount(count: float, unit: str) -> str:
    """`20 min`, `1.5M`."""
    if unit:
        size = next(size for name, size, _ in UNITS if name == unit)
        return f"{count / size:g} {unit}"
    for letter, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:g}{letter}"
    return f"{count:g}"
