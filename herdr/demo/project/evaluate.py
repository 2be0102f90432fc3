"""Scores the tour that `python -m tour` prints. The tour is measured here, whatever the solver says about it."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
CITIES = HERE / "cities.tsp"
DIGEST = "51a10a71cd7336062e3e16e67a9f3ba10a860e99585348143fccaf8b75355d3c"
# Looks at a city: work, not time, so that the result is the same on every machine.
LOOKS = 120_000
TIMEOUT = 60


def points() -> list[tuple[int, int]]:
    """The cities, if the file still is the one that is scored."""
    data = CITIES.read_bytes()
    if hashlib.sha256(data).hexdigest() != DIGEST:
        sys.exit(f"{CITIES.name} was changed: the cities are the task")
    lines = data.decode().splitlines()
    nodes = lines[lines.index("NODE_COORD_SECTION") + 1 : lines.index("EOF")]
    return [(int(x), int(y)) for _, x, y in map(str.split, nodes)]


def solve() -> list[int]:
    """Run the solver and read its tour, one city number a line."""
    argv = [sys.executable, "-m", "tour", CITIES.name, str(LOOKS)]
    done = subprocess.run(argv, cwd=HERE, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        sys.exit(f"the solver failed:\n{done.stderr}")
    return [int(line) for line in done.stdout.split()]


def legs(tour: list[int], cities: list[tuple[int, int]]) -> list[int]:
    """The length of each leg of the round trip, rounded as TSPLIB does."""
    if sorted(tour) != list(range(1, len(cities) + 1)):
        sys.exit(f"not a tour: {len(tour)} stops, {len(set(tour))} of the {len(cities)} cities")
    stops = [cities[number - 1] for number in tour]
    pairs = zip(stops, stops[1:] + stops[:1], strict=True)
    return [int(math.sqrt((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) + 0.5) for a, b in pairs]


def main() -> None:
    """Print the metrics, or say what is wrong and exit with 1."""
    cities = points()
    started = time.perf_counter()
    tour = solve()
    seconds = time.perf_counter() - started
    distances = legs(tour, cities)
    print(f"METRIC length={sum(distances)}")
    print(f"METRIC longest_leg={max(distances)}")
    print(f"METRIC seconds={seconds:.3f}")


if __name__ == "__main__":
    main()
