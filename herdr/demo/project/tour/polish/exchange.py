"""Exchange two cities that follow each other, wherever that makes the trip shorter."""

from __future__ import annotations

from ..improve import Descend
from ..problem import Problem
from ..route import Route


def polish(route: Route, problem: Problem, descend: Descend) -> None:
    """Go once around the trip."""
    order, distance = route.order, problem.distance
    for place in range(problem.size):
        a, b, c, d = order[place - 1], order[place], order[place + 1], order[place + 2]
        if distance[a][c] + distance[b][d] < distance[a][b] + distance[c][d]:
            order[place], order[place + 1] = c, b
    descend(route, order)
