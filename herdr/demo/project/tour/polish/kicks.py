"""Kicks: swap two short parts at random, repair around them, and keep what is not longer."""

from __future__ import annotations

import random

from ..improve import Descend
from ..problem import Problem
from ..route import Route
from ..settings import SEED

# How often.
KICKS = 60

# The longest part that is swapped, in cities.
REACH = 30


def polish(route: Route, problem: Problem, descend: Descend) -> None:
    """Kick and repair until the kicks or the budget are used up."""
    rng = random.Random(SEED)  # noqa: S311 - a search, not a secret
    best, length = route.order, route.length(problem)
    for _ in range(KICKS):
        if not problem.budget.spend():
            break
        route.replace(best.copy())
        descend(route, _swap(route, rng))
        if route.length(problem) <= length:
            best, length = route.order, route.length(problem)
    route.replace(best)


def _swap(route: Route, rng: random.Random) -> list[int]:
    """Swap two neighbouring parts at a random place; the cities at their ends are returned."""
    start = int(rng.random() * len(route.order))
    first, second = 1 + int(rng.random() * REACH), 1 + int(rng.random() * REACH)
    turned = route.order[start:] + route.order[:start]
    one, two, rest = turned[:first], turned[first : first + second], turned[first + second :]
    route.replace(two + one + rest)
    return [one[0], one[-1], two[0], two[-1], rest[0], rest[-1]]
