"""Or-3-opt: swap two neighbouring parts of the trip, whatever their lengths, without turning them around."""

from __future__ import annotations

from ..problem import Problem
from ..route import Route


def step(route: Route, problem: Problem, b: int) -> tuple[int, ...]:
    """Look for roads a-b, e-f, c-d, met in this order, where a-f, c-b and e-d together are shorter."""
    distance, size, place = problem.distance, problem.size, route.place
    a = route.before(b)
    for c in problem.near[b]:
        gain = distance[a][b] - distance[b][c]
        if gain <= 0:
            break
        d = route.after(c)
        if d == b:
            continue
        reach = (place[c] - place[b]) % size
        gain += distance[c][d]
        for e in problem.near[d]:
            if gain <= distance[d][e]:
                break
            if (place[e] - place[b]) % size >= reach:
                continue
            f = route.after(e)
            if gain - distance[d][e] + distance[e][f] - distance[a][f] > 0:
                route.replace(route.path(f, c) + route.path(b, e) + route.path(d, a))
                return (a, b, c, d, e, f)
    return ()
