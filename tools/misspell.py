"""Plants misspellings in a copy of the tree, one at a time, and says how many of them the type checker catches.

`python tools/misspell.py` ends with `caught: 12 of 12`, and fails when one was not caught: then a name crosses a
door as a string again, where nothing knows it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Plant(NamedTuple):
    """One misspelling.

    Attributes:
        what: what is misspelt.
        file: where, from the root of the repo.
        old: what stands there, once or more; the first is changed.
        new: what is put in its place.
    """

    what: str
    file: str
    old: str
    new: str


CLI, DAEMON, POLY = "herdr/cli", "herdr/daemon", "plugins/herdr_polyresearch"
PLANTS = (
    Plant("a column in an update (daemon)", f"{DAEMON}/runs/run_loop.py", "settled_at=app", "setled_at=app"),
    Plant("a column in an insert (ops)", "herdr/ops/message.py", "body=", "bodi="),
    Plant("an operation (cli)", f"{CLI}/candidate.py", "ask(ShowCandidate(", "ask(ShowCandidat("),
    Plant("an argument (cli)", f"{CLI}/candidate.py", "OverruleVerdict(candidate=", "OverruleVerdict(candiate="),
    Plant("an answer's field, read by all (ops)", "herdr/ops/views.py", "    share: float", "    shar: float"),
    Plant("an answer's field (watch)", "herdr/watch/header.py", ".state_reason", ".state_reasn"),
    Plant("an answer's field (demo)", "herdr/demo/closing.py", ".subject", ".subjct"),
    Plant("a word of a vocabulary (daemon)", f"{DAEMON}/runs/run_loop.py", '"parked"', '"parkd"'),
    Plant("a word of a vocabulary (cli)", f"{CLI}/status.py", '"subprocess"', '"subproces"'),
    Plant(
        "a kind of event (ops)", "herdr/ops/orchestrator.py", '"orchestrator.revoked"', '"orchestrator.revokt"'
    ),
    Plant("a fact that a plugin gets (store)", "herdr/store/facts.py", "ended_at=agent", "endet_at=agent"),
    Plant("a field of a thesis (polyresearch)", f"{POLY}/commands/status.py", ".title", ".titel"),
)


def main() -> int:
    """Plant each and count; the exit status says whether all were caught."""
    with tempfile.TemporaryDirectory(prefix="herdr-misspell-") as folder:
        copy = Path(folder)
        _copy(copy)
        assert not complaints(copy), "the tree itself does not pass"
        caught = sum(planted(copy, plant) for plant in PLANTS)
    print(f"caught: {caught} of {len(PLANTS)}")
    return 0 if caught == len(PLANTS) else 1


def planted(copy: Path, plant: Plant) -> bool:
    """Make one mistake, look whether it is caught, and take it back.

    Args:
        copy: the copy of the tree.
        plant: the mistake.
    """
    path = copy / plant.file
    text = path.read_text()
    if plant.old not in text:
        print(f"stale:  {plant.what}: {plant.file} has no {plant.old!r} any more")
        return False
    path.write_text(text.replace(plant.old, plant.new, 1))
    try:
        said = complaints(copy)
    finally:
        path.write_text(text)
        # mypy knows a file by its size and time: this one is not the one that it has seen.
        os.utime(path, (time.time() + 10, time.time() + 10))
    files = sorted({line.partition(":")[0] for line in said})
    print(f"{'caught' if said else 'MISSED'}: {plant.what}: {', '.join(files) or plant.file}")
    return bool(said)


def complaints(copy: Path) -> list[str]:
    """The errors that mypy finds in a tree, a line each.

    Args:
        copy: the tree.
    """
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=copy, capture_output=True, text=True, check=False)
    return [line for line in done.stdout.splitlines() if re.search(r": error: ", line)]


def _copy(copy: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)


if __name__ == "__main__":
    sys.exit(main())
