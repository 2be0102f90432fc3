"""Take the shortest roads first, as long as they can still become one round trip."""

from __future__ import annotations

from ..problem import Problem


def build(problem: Problem) -> list[int]:
    """Join the ends of paths, by the shortest road that is left, until one path holds every city."""
    size, distance = problem.size, problem.distance
    roads = sorted((distance[a][b], a, b) for a in range(size) for b in range(a))
    joined: list[list[int]] = [[] for _ in range(size)]
    other_end = list(range(size))
    for _, a, b in roads:
        if len(joined[a]) < 2 and len(joined[b]) < 2 and other_end[a] != b:
            joined[a].append(b)
            joined[b].append(a)
            left, right = other_end[a], other_end[b]
            other_end[left], other_end[right] = right, left
    return _walk(joined)


def _walk(joined: list[list[int]]) -> list[int]:
    city = next(city for city, roads in enumerate(joined) if len(roads) == 1)
    order, previous = [city], -1
    while len(order) < len(joined):
        city, previous = next(c for c in joined[city] if c != previous), city
        order.append(city)
    return order
