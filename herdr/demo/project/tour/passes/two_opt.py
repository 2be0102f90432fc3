"""2-opt: replace two roads of the trip by two shorter ones, which turns the part between them around."""

from __future__ import annotations

from ..problem import Problem
from ..route import Route


def step(route: Route, problem: Problem, city: int) -> tuple[int, ...]:
    """Try to replace one of this city's two roads by a road to one of its nearest cities."""
    row = problem.distance[city]
    for onward, forward in ((route.after, True), (route.before, False)):
        end = onward(city)
        for near in problem.near[city]:
            gain = row[end] - row[near]
            # Neighbours are sorted: from here on the new road is longer than the one it replaces.
            if gain <= 0:
                break
            far = onward(near)
            if gain + problem.distance[near][far] - problem.distance[end][far] > 0:
                if forward:
                    route.reverse(end, near)
                else:
                    route.reverse(city, far)
                return (city, end, near, far)
    return ()
