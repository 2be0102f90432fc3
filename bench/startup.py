"""Start-up of the commands that people type all day, beside a bare interpreter, on a project of 1,000 runs."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.report import Row, figure, spread
from bench.stand import Stand, stand
from herdr.store.connection import transaction
from herdr.store.rows import Agent, Candidate, Comment, Measurement, Run

RUNS, WAITING, ROUNDS = 1000, 50, 15
BIN = Path(sys.executable).parent
BARE = (sys.executable, "-c", "pass")
COMMANDS = (("piloop", "--help"), ("piloop", "status"), ("herdr", "status"))
#: Times that a bare interpreter takes, and MB. People and agents call these commands all day.
RATIO, MEMORY = 8.0, 60.0
HEAVY = ("anyio", "github", "jinja2", "libtmux", "pluggy", "rich", "textual")
#: Runs a command line in a process of its own and says on stderr what that took. The kernel's `VmHWM` is of this
#: program alone; `ru_maxrss` would count the memory of the parent that started it.
LOOK_INSIDE = """
import json, sys
from herdr.cli.main import run
run(sys.argv[1], sys.argv[2:])
with open("/proc/self/status") as file:
    peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
print(json.dumps([peak / 1024, sorted({name.partition(".")[0] for name in sys.modules})]), file=sys.stderr)
"""


def measure() -> list[Row]:
    """Times, peak memory, and which modules were imported that should not be."""
    with stand({"none": {"interactive": ["true"]}}) as place:
        _fill(place)
        return _times(place.root) + [row for command in COMMANDS for row in _insides(place.root, command)]


def _times(cwd: Path) -> list[Row]:
    """Measure round by round, so that other work on the machine slows all of them down alike."""
    samples: dict[Sequence[str], list[float]] = {BARE: [], **{command: [] for command in COMMANDS}}
    for _ in range(ROUNDS):
        for command, times in samples.items():
            times.append(_time(cwd, command))
    bare = samples.pop(BARE)
    rows = [spread("python -c pass", [1000 * one for one in bare], "ms")]
    for command, times in samples.items():
        middle = 1000 * sorted(times)[len(times) // 2]
        ratios = [one / beside for one, beside in zip(times, bare, strict=True)]
        what = f"{' '.join(command)}, times a bare interpreter"
        rows.append(spread(what, ratios, "x", budget=RATIO, note=f"{middle:.0f} ms"))
    return rows


def _time(cwd: Path, command: Sequence[str]) -> float:
    argv = [str(BIN / command[0]), *command[1:]]
    begin = time.perf_counter()
    subprocess.run(argv, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def _insides(cwd: Path, command: Sequence[str]) -> list[Row]:
    argv = [sys.executable, "-c", LOOK_INSIDE, *command]
    done = subprocess.run(argv, cwd=cwd, check=True, capture_output=True, text=True)
    peak, modules = json.loads(done.stderr.splitlines()[-1])
    heavy = [name for name in modules if name in HEAVY or name.startswith("herdr_")]
    words = " ".join(command)
    return [
        figure(f"{words}, peak memory", peak, "MB", budget=MEMORY),
        figure(f"{words}, heavy modules imported", len(heavy), "", budget=0, note=", ".join(heavy)),
    ]


def _fill(place: Stand) -> None:
    """Write a campaign of 1,000 settled runs straight into the store, with ideas that wait."""
    place.add_ideas(RUNS + WAITING)
    project = place.project
    assert project.head_id is not None
    assert project.evaluator_id is not None
    with transaction(place.store):
        for number in range(1, RUNS + 1):
            _add_run(place, project.id, project.head_id, project.evaluator_id, number)


def _add_run(place: Stand, project_id: int, head_id: int, evaluator_id: int, number: int) -> None:
    store, now = place.store, "2026-01-01T00:00:00.000Z"
    store.execute("UPDATE ideas SET status = 'done', actor = 'daemon' WHERE id = ?", (number,))
    run_id = Run.insert(
        store,
        project_id=project_id,
        actor="daemon",
        idea_id=number,
        number=1,
        base_id=head_id,
        harness="none",
        settled_at=now,
        state="succeeded",
        end_cause="finished",
        started_at=now,
        finished_at=now,
    )
    Agent.insert(
        store,
        project_id=project_id,
        actor="daemon",
        session_id=secrets.token_hex(8),
        token_hash="",
        state="ended",
        ended_at=now,
        run_id=run_id,
        harness="none",
        started_at=now,
    )
    candidate_id = Candidate.insert(
        store,
        project_id=project_id,
        actor="daemon",
        tree_sha=secrets.token_hex(20),
        commit_sha=secrets.token_hex(20),
        verdict="keep" if number % 10 == 0 else "discard",
        rule="gain",
        judged_at=now,
        subject=f"try {number}",
        reason="as the rule says",
        origin="run",
        run_id=run_id,
    )
    Measurement.insert(
        store,
        candidate_id=candidate_id,
        evaluator_id=evaluator_id,
        state="done",
        metrics=f'{{"score": {number}}}',
        seconds=1.0,
        finished_at=now,
        actor="daemon",
    )
    Comment.insert(
        store,
        project_id=project_id,
        actor="daemon",
        target_kind="run",
        target_id=run_id,
        kind="finding",
        body=f"what {number} showed",
    )
