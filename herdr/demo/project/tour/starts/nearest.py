"""Always go on to the nearest city that was not visited yet."""

from __future__ import annotations

from ..problem import Problem


def build(problem: Problem) -> list[int]:
    """A tour from city 0."""
    order = [0]
    left = set(range(1, problem.size))
    while left:
        row = problem.distance[order[-1]]
        city = min(left, key=lambda other: (row[other], other))
        left.remove(city)
        order.append(city)
    return order
