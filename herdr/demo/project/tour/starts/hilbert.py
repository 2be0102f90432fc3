"""Visit the cities in the order in which a Hilbert curve passes them."""

from __future__ import annotations

from ..problem import Problem

SIDE = 1024


def build(problem: Problem) -> list[int]:
    """A tour along the curve, without a look at a single distance."""
    return sorted(range(problem.size), key=lambda city: _along(*problem.points[city]))


def _along(x: float, y: float) -> int:
    column, row, passed, side = int(x), int(y), 0, SIDE // 2
    while side:
        right, upper = int(column & side > 0), int(row & side > 0)
        passed += side * side * ((3 * right) ^ upper)
        if not upper:
            if right:
                column, row = SIDE - 1 - column, SIDE - 1 - row
            column, row = row, column
        side //= 2
    return passed
