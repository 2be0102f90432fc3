"""Makes a route shorter with whatever lies in `passes` and `polish`.

A pass is a module of `tour.passes` with `step(route, problem, city) -> tuple[int, ...]`: it looks at one city,
makes at most one change there that shortens the route, and returns the cities whose neighbours it changed. Passes
run, in the order of their names, until none finds anything. Then each module of `tour.polish` runs once, with
`polish(route, problem, descend)`; `descend(route, cities)` runs the passes again, around these cities.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType

from .problem import Problem
from .route import Route

Descend = Callable[[Route, Iterable[int]], None]
Step = Callable[[Route, Problem, int], tuple[int, ...]]


def improve(route: Route, problem: Problem) -> None:
    """Shorten the route in place."""
    steps: list[Step] = [one.step for one in _modules("passes")]

    def descend(route: Route, cities: Iterable[int]) -> None:
        waiting = list(cities)
        while waiting and problem.budget.left > 0:
            changed: list[int] = []
            for step in steps:
                changed += _exhaust(step, route, problem, waiting + changed)
            waiting = changed

    descend(route, range(problem.size))
    for one in _modules("polish"):
        one.polish(route, problem, descend)


def _exhaust(step: Step, route: Route, problem: Problem, cities: list[int]) -> list[int]:
    """Look at these cities, and again wherever something changed; the changed ones are returned."""
    waiting = dict.fromkeys(cities)
    changed: dict[int, None] = {}
    while waiting and problem.budget.spend():
        city, _ = waiting.popitem()
        ends = dict.fromkeys(step(route, problem, city))
        waiting |= ends
        changed |= ends
    return list(changed)


def _modules(name: str) -> list[ModuleType]:
    folder = import_module(f"{__package__}.{name}")
    return [import_module(f"{folder.__name__}.{each.name}") for each in pkgutil.iter_modules(folder.__path__)]
