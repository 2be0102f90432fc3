"""Turnover: from the end of an agent's process to the first instruction of the next run's agent."""

from __future__ import annotations

from bench.dispatch import began_at, left_at
from bench.report import Row, spread
from bench.stand import stand

RUNS = 9
#: Seconds; as long as it takes, a slot stands empty.
BUDGET = 1.0
#: Commits something, so that its run has an end like any other, and leaves files whose times say when it ran.
AGENT = [
    "sh",
    "-c",
    ': > "$0/began"; echo "$0" > note.txt; git commit -qam "a note"; sleep 0.3; : > "$0/ended"',
    "{log_dir}",
]


def measure() -> list[Row]:
    """One slot and a queue: each end makes room for the next, while the ended run is being scored."""
    with stand({"short": {"interactive": AGENT}}, slots=1) as place:
        place.start()
        place.add_ideas(RUNS)
        began = [began_at(place, number) for number in range(1, RUNS + 1)]
        ended = [left_at(place.home.agent_dir(number) / "ended") for number in range(1, RUNS)]
    gaps = [start - end for end, start in zip(ended, began[1:], strict=True)]
    return [spread("an agent ends → the next run's agent runs", gaps, "s", budget=BUDGET)]
