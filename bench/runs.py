"""Twenty trivial runs on two slots, beside the same git, shell and evaluate commands without herdr."""

from __future__ import annotations

import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from bench.report import Row, figure
from bench.stand import Stand, seconds_of, stand

RUNS, SLOTS = 20, 2
WORK = 'echo "$0" > note.txt; git commit -qam "a note"'


def measure() -> list[Row]:
    """Seconds per run from the ideas being added to the last verdict, and per round of the bare commands."""
    with stand({"short": {"interactive": ["sh", "-c", WORK, "{session_id}"]}}, slots=SLOTS) as place:
        bare = _bare(place)
        place.start()
        added = place.add_ideas(RUNS)
        place.wait("SELECT count(*) >= ? FROM runs WHERE settled_at IS NOT NULL", RUNS)
        last = seconds_of(place.value("SELECT max(settled_at) FROM runs"))
        good = place.value("SELECT count(*) FROM candidates WHERE verdict = 'discard'")
    if good != RUNS:
        raise RuntimeError(f"only {good} of {RUNS} trivial runs came to their verdict")
    each = (last - added) / RUNS
    return [
        figure("a trivial run without herdr, 2 at a time", bare, "s"),
        figure("a trivial run, 2 slots", each, "s", note=f"{each / bare:.1f} times the bare commands"),
    ]


def _bare(place: Stand) -> float:
    """Seconds per round of: worktree, edit and commit, evaluate; as many at a time as there are slots."""
    begin = time.perf_counter()
    with ThreadPoolExecutor(SLOTS) as pool:
        list(pool.map(lambda number: _bare_run(place, number), range(RUNS)))
    return (time.perf_counter() - begin) / RUNS


def _bare_run(place: Stand, number: int) -> None:
    path = place.root.parent / f"bare-{number}"
    place.git("worktree", "add", "-q", "--no-track", "-b", f"bare-{number}", str(path), "main")
    for command in (["sh", "-c", WORK, str(number)], ["sh", "evaluate.sh"]):
        subprocess.run(command, cwd=path, check=True, capture_output=True)
