"""Or-opt: take a short chain of cities out of the trip and put it where it fits better."""

from __future__ import annotations

from ..problem import Problem
from ..route import Route

# The longest chain that is moved.
CHAIN = 3


def step(route: Route, problem: Problem, head: int) -> tuple[int, ...]:
    """Look at the chains that begin at this city, in both directions."""
    distance = problem.distance
    for onward, back in ((route.after, route.before), (route.before, route.after)):
        chain = [head]
        before = back(head)
        for _ in range(CHAIN):
            tail = chain[-1]
            after = onward(tail)
            saved = distance[before][head] + distance[tail][after] - distance[before][after]
            for near in problem.near[head]:
                if distance[head][near] >= saved:
                    break
                if near in chain:
                    continue
                for beside in (route.after(near), route.before(near)):
                    if beside in chain:
                        continue
                    cost = distance[near][head] + distance[tail][beside] - distance[near][beside]
                    if cost < saved:
                        _move(route, chain, near, beside)
                        return (before, after, head, tail, near, beside)
            chain.append(after)
    return ()


def _move(route: Route, chain: list[int], near: int, beside: int) -> None:
    """Put the chain between two neighbours, its head beside `near`."""
    moved = set(chain)
    rest = [city for city in route.order if city not in moved]
    place = rest.index(near)
    if rest[(place + 1) % len(rest)] == beside:
        route.replace(rest[: place + 1] + chain + rest[place + 1 :])
    else:
        route.replace(rest[:place] + chain[::-1] + rest[place:])
