"""Prints a tour through the cities of a TSPLIB file: `python -m tour cities.tsp LOOKS`."""

from __future__ import annotations

import sys
from pathlib import Path

from .construct import construct
from .improve import improve
from .problem import Problem, read_cities


def main(path: str, looks: str) -> None:
    """Print one city number a line, as they are numbered in the file."""
    problem = Problem(read_cities(Path(path)), int(looks))
    route = construct(problem)
    improve(route, problem)
    print("\n".join(str(city + 1) for city in route.order))


main(*sys.argv[1:])
