"""How cities.tsp was made: towns scattered evenly, and cities crowded around a few centres."""

from __future__ import annotations

import random
from pathlib import Path

SEED = 120
SPREAD = 100
CENTRES = 7
PER_CENTRE = 20
SIDE = 1000


def cities() -> list[tuple[int, int]]:
    """250 different points on a square of 1000 by 1000, the same on every machine."""
    rng = random.Random(SEED)  # noqa: S311 - a map, not a secret
    points: dict[tuple[int, int], None] = {}

    def near(centre: float) -> int:
        # A sum of uniform numbers is bell-shaped, and needs no function whose last digit varies by machine.
        return round(centre + SPREAD * (rng.random() + rng.random() + rng.random() - 1.5))

    while len(points) < 250 - CENTRES * PER_CENTRE:
        points[int(rng.random() * SIDE), int(rng.random() * SIDE)] = None
    for _ in range(CENTRES):
        x, y = SPREAD + rng.random() * (SIDE - 2 * SPREAD), SPREAD + rng.random() * (SIDE - 2 * SPREAD)
        wanted = len(points) + PER_CENTRE
        while len(points) < wanted:
            points[near(x), near(y)] = None
    shuffled = list(points)
    for last in range(len(shuffled) - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        shuffled[last], shuffled[other] = shuffled[other], shuffled[last]
    return shuffled


def tsplib(points: list[tuple[int, int]]) -> str:
    """The points as a TSPLIB file."""
    head = ["NAME : herdr250", "TYPE : TSP", f"DIMENSION : {len(points)}", "EDGE_WEIGHT_TYPE : EUC_2D"]
    nodes = [f"{number} {x} {y}" for number, (x, y) in enumerate(points, 1)]
    return "\n".join([*head, "NODE_COORD_SECTION", *nodes, "EOF"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("cities.tsp").write_text(tsplib(cities()), encoding="utf-8")
