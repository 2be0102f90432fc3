"""The cities, the distances between them, and the work that may be spent on them."""

from __future__ import annotations

import math
from pathlib import Path

from .settings import NEIGHBOURS


class Budget:
    """Counts looks at a city; the evaluator grants a fixed number, so that no machine is luckier than another."""

    def __init__(self, looks: int) -> None:
        self.left = looks

    def spend(self) -> bool:
        """Pay for one look at one city; False when nothing is left and the search has to stop."""
        self.left -= 1
        return self.left >= 0


class Problem:
    """Cities are numbered from 0; distances are whole numbers, rounded as TSPLIB does."""

    def __init__(self, points: list[tuple[float, float]], looks: int) -> None:
        self.points = points
        self.size = len(points)
        self.budget = Budget(looks)
        self.distance = [[_distance(a, b) for b in points] for a in points]
        cities = range(self.size)
        self.near = [sorted(cities, key=row.__getitem__)[1 : NEIGHBOURS + 1] for row in self.distance]


def _distance(a: tuple[float, float], b: tuple[float, float]) -> int:
    return int(math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) + 0.5)


def read_cities(path: Path) -> list[tuple[float, float]]:
    """The coordinates in a TSPLIB file, in its order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    nodes = lines[lines.index("NODE_COORD_SECTION") + 1 : lines.index("EOF")]
    return [(float(x), float(y)) for _, x, y in map(str.split, nodes)]
