"""Dispatch: from an idea's row being committed to the first instruction of its agent."""

from __future__ import annotations

import time
from pathlib import Path

from bench.report import Row, spread
from bench.stand import LOOK, PATIENCE, Stand, seconds_of, stand
from tests.campaigns import wait_until

ROUNDS = 10
#: Seconds on top of the checkout itself, which git needs however it is started.
BUDGET = 0.5
#: Leaves a file whose time says when its first instruction ran, and goes on running.
AGENT = ["sh", "-c", ': > "$0/began"; exec sleep 3600', "{log_dir}"]


def measure() -> list[Row]:
    """One idea at a time, while the agents of those before live on and do nothing."""
    with stand({"sleeper": {"interactive": AGENT}}, slots=ROUNDS) as place:
        place.start()
        checkouts, latencies = [], []
        parts: list[tuple[float, float, float]] = []
        for number in range(1, ROUNDS + 1):
            checkouts.append(_checkout(place, number))
            added = place.add_ideas(1)
            began = began_at(place, number)
            latencies.append(began - added)
            parts.append(_parts(place, number, added, began))
    checkout = spread("a checkout alone (git worktree add)", checkouts, "s")
    noticed, prepared, launched = (sorted(part)[len(part) // 2] for part in zip(*parts, strict=True))
    note = f"noticed {noticed * 1000:.0f} ms, worktree {prepared * 1000:.0f} ms, launch {launched * 1000:.0f} ms"
    budget = BUDGET + checkout.value
    return [
        checkout,
        spread("idea added → its agent runs", latencies, "s", budget=budget, note=note),
    ]


def _checkout(place: Stand, number: int) -> float:
    path = place.root.parent / f"checkout-{number}"
    begin = time.perf_counter()
    place.git("worktree", "add", "-q", "--no-track", "-b", f"checkout-{number}", str(path), "main")
    return time.perf_counter() - begin


def began_at(place: Stand, agent_id: int) -> float:
    """When an agent began, in seconds since the epoch, by the file that it left.

    Args:
        place: where it runs.
        agent_id: the id of its row.
    """
    return left_at(place.home.agent_dir(agent_id) / "began")


def left_at(path: Path) -> float:
    """Wait for a file that an agent leaves, and say when it was left; the kernel's clock steps by up to 4 ms."""
    wait_until(path.exists, f"an agent leaves {path.name}", seconds=PATIENCE, look=LOOK)
    return path.stat().st_mtime


def _parts(place: Stand, number: int, added: float, began: float) -> tuple[float, float, float]:
    """Until the run is queued, until its worktree is ready, until the agent runs."""
    queued = seconds_of(place.value("SELECT queued_at FROM runs WHERE id = ?", number))
    launched = seconds_of(place.value("SELECT launched_at FROM agents WHERE id = ?", number))
    return queued - added, launched - queued, began - launched
