"""Scoring a commit for real: worktree, overlay, environment, timeout, what is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import psutil
import pytest

from herdr.repo.checks import head_commit
from herdr.repo.own import open_own
from herdr.scoring import measure as measuring
from herdr.scoring.contents import EvaluatorDiffersError, record
from herdr.scoring.measure import Job, ScoringResult, discard, evaluator_environment, measure
from herdr.scoring.output import KEPT

MakeRepo = Callable[..., Path]
MakeJob = Callable[..., Job]
Scored = Callable[..., ScoringResult]

METRICS = "import os, pathlib; file = pathlib.Path(os.environ['PILOOP_METRICS_FILE']); "


@pytest.fixture
def job(make_repo: MakeRepo, tmp_path: Path) -> MakeJob:
    """`job(script)` is the scoring of a repo with that evaluate.py; `candidate` files are committed on top."""

    def make(script: str, *, candidate: dict[str, str] | None = None, timeout: float = 20.0) -> Job:
        root = make_repo({"evaluate.py": script, "data.txt": "1\n"})
        own = open_own(tmp_path / "own.git", root, "refs/piloop/0123abcd/p/")
        evaluator = head_commit(root)
        for path, text in (candidate or {}).items():
            (root / path).write_text(text)
        subprocess.run(["git", "add", "-A"], cwd=root, check=True)
        subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "candidate"], cwd=root, check=True)
        return Job(
            own=own,
            commit=head_commit(root),
            evaluator_commit=evaluator,
            protected=["/evaluate.py"],
            contents=record(own, evaluator, ["evaluate.py"]),
            argv=["python3", "evaluate.py"],
            metrics=["m"],
            link=[],
            timeout=timeout,
            env=evaluator_environment(os.environ, []),
            folder=tmp_path / "evaluations" / "7",
            mark=f"{tmp_path}:evaluation",
        )

    return make


@pytest.fixture
def scored(job: MakeJob) -> Scored:
    """`scored(script)` is the score of that job; of one that failed only its output may be left."""

    def run(script: str, **more: Any) -> ScoringResult:
        wanted = job(script, **more)
        score = anyio.run(measure, wanted)
        left = sorted(path.name for path in wanted.folder.parent.iterdir())
        assert left == ([] if score.error is None else ["7"])
        return score

    return run


def test_printed_metrics_are_the_score(scored: Scored) -> None:
    score = scored("print('METRIC m=' + open('data.txt').read())", candidate={"data.txt": "7"})
    assert (score.metrics, score.error) == ({"m": 7.0}, None)


def test_a_metrics_file_is_read_as_well(scored: Scored) -> None:
    script = "import json, os\njson.dump({'m': 3}, open(os.environ['PILOOP_METRICS_FILE'], 'w'))\n"
    assert scored(script).metrics == {"m": 3.0}


def test_the_candidates_own_evaluator_does_not_run(scored: Scored) -> None:
    assert scored("print('METRIC m=1')", candidate={"evaluate.py": "print('METRIC m=99')"}).metrics == {"m": 1.0}


@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("raise SystemExit('boom')", "exited with status 1: boom"),
        ("import os; os.kill(os.getpid(), 11)", "was killed by SIGSEGV"),
        ("print('METRIC m=nan')", "not a finite number"),
        ("pass", "no metric m"),
        ("import os; os.kill(os.getpid(), 40)", "was killed by signal 40"),
        (METRICS + "file.symlink_to('/etc/passwd')", "METRICS_FILE cannot be read: "),
        (METRICS + "os.mkfifo(file)", "METRICS_FILE cannot be read: "),
        (METRICS + "file.mkdir()", "METRICS_FILE cannot be read: "),
        (METRICS + "file.open('wb').truncate(1 << 40)", "holds more than 1048576 bytes"),
        (METRICS + "file.write_text('[' * 900000)", "METRICS_FILE is not JSON"),
        (METRICS + "file.write_text('9' * 100000)", "METRICS_FILE"),
    ],
)
def test_what_is_no_score_says_why(scored: Scored, script: str, error: str) -> None:
    assert error in (scored(script).error or "")


def test_a_slow_command_is_ended_with_all_that_it_started(scored: Scored, tmp_path: Path) -> None:
    script = "import subprocess\nsubprocess.run(['setsid', 'sh', '-c', 'trap \"\" TERM HUP; sleep 1000'])"
    assert "longer than 0.5 s" in (scored(script, timeout=0.5).error or "")
    assert not marked(tmp_path)


def test_what_a_command_leaves_running_is_ended(scored: Scored, tmp_path: Path) -> None:
    script = "import subprocess\nsubprocess.Popen(['setsid', 'sleep', '1000'])\nprint('METRIC m=1')"
    assert scored(script).metrics == {"m": 1.0}
    assert not marked(tmp_path)


def test_secrets_are_not_in_its_environment(scored: Scored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "x")
    assert scored("import os; print('METRIC m=', 'SECRET_KEY' in os.environ and 1 or 0, sep='')").metrics == {
        "m": 0.0
    }
    assert evaluator_environment({"SECRET_KEY": "x", "PATH": "p"}, ["SECRET_KEY"]) == {
        "SECRET_KEY": "x",
        "PATH": "p",
    }


def test_metrics_are_found_after_100_mb_and_little_of_it_stays(job: MakeJob) -> None:
    noise = "for _ in range(100): sys.stdout.write('x' * 999_999 + '\\n')\n"
    lines = "print('METRIC n=1')\n" + noise + "print('METRIC m=4')\n"
    wanted = job(f"import sys\n{lines}raise SystemExit(3)")
    score = anyio.run(measure, wanted)
    assert score.error == "the evaluate command exited with status 3: METRIC m=4"
    kept = (wanted.folder / "stdout.txt").read_text()
    assert 2 * KEPT < len(kept) < 2 * KEPT + 100
    assert kept.startswith("METRIC n=1\n")
    assert kept.endswith("x\nMETRIC m=4\n")
    assert "bytes are left out here" in kept
    again = anyio.run(measure, job_of(wanted, f"import sys\n{lines}"))
    assert again.metrics == {"m": 4.0, "n": 1.0}
    assert not wanted.folder.exists()


def job_of(job: Job, script: str) -> Job:
    """The same scoring by another script."""
    argv = ["python3", "-c", script]
    return msgspec.structs.replace(job, argv=argv, attempt="0" * 8)


def test_an_endless_line_costs_no_memory(scored: Scored) -> None:
    noise = "METRIC m=" + "1" * 100_000
    script = f"import sys\nfor _ in range(500): sys.stdout.write({noise!r})\nprint('\\nMETRIC m=2')"
    assert scored(script).metrics == {"m": 2.0}


def test_nobody_can_empty_what_the_evaluator_has_printed(scored: Scored) -> None:
    script = """
import subprocess, sys
print('METRIC m=2', flush=True)
subprocess.run([sys.executable, 'candidate.py'])
"""
    fake = "import os\nfile = open(f'/proc/{os.getppid()}/fd/1', 'w')\nprint('METRIC m=999', file=file)\n"
    assert "given twice: 2 and 999" in (scored(script, candidate={"candidate.py": fake}).error or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_nobody_can_read_it_away_either(scored: Scored) -> None:
    script = "import os\ntry:\n    open('/proc/self/fd/1')\nexcept PermissionError:\n    print('METRIC m=1')"
    assert scored(script).metrics == {"m": 1.0}


def test_the_usual_ways_to_print_work(scored: Scored) -> None:
    script = "import os\nos.system('echo METRIC m=1 | tee /dev/stderr > /dev/stdout')\n"
    assert scored(script).metrics == {"m": 1.0}


def test_a_reader_is_not_waited_for_that_nobody_can_end(job: MakeJob) -> None:
    # Without the mark in its environment, and of another parent, it is not found.
    child = "import os, time\nos.setsid()\nwhile True:\n    os.write(1, b'x' * 1000)\n"
    script = (
        "import subprocess, sys\nprint('METRIC m=1', flush=True)\n"
        f"one = subprocess.Popen([sys.executable, '-c', {child!r}], env={{}})\n"
        "print('PID', one.pid, file=sys.stderr)\n"
        "raise SystemExit(1)\n"
    )
    wanted = job(script)
    begin = time.monotonic()
    score = anyio.run(measure, wanted)
    assert "exited with status 1" in (score.error or "")
    assert time.monotonic() - begin < 15
    pid = int((wanted.folder / "stderr.txt").read_text().split()[1])
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def test_an_evaluator_that_is_not_what_was_recorded_scores_nothing(job: MakeJob) -> None:
    wanted = job("print('METRIC m=1')")
    forged = msgspec.structs.replace(wanted, contents={**wanted.contents, "evaluate.py": "file 00"})
    with pytest.raises(EvaluatorDiffersError, match=r"evaluate\.py, as checked out, is not what was recorded"):
        anyio.run(measure, forged)
    assert not wanted.scratch.exists()


def test_what_killed_attempts_left_goes_and_that_of_others_stays(job: MakeJob) -> None:
    wanted = job("print('METRIC m=1')")
    mine, other = wanted.folder.with_name("7-0123abcd"), wanted.folder.with_name("17-0123abcd")
    for folder in (mine, other, wanted.folder):
        (folder / "worktree").mkdir(parents=True)
    assert anyio.run(measure, wanted).metrics == {"m": 1.0}
    assert [path.name for path in wanted.folder.parent.iterdir()] == ["17-0123abcd"]


@pytest.mark.timeout(240)
def test_what_is_written_while_a_folder_is_removed_is_in_no_ones_way(job: MakeJob) -> None:
    wanted = job("print('METRIC m=1')")
    wanted.folder.parent.mkdir()
    writer = subprocess.Popen(
        ["python3", "-c", WRITER, str(wanted.folder.parent)], stdout=subprocess.PIPE, start_new_session=True
    )
    assert writer.stdout is not None
    writer.stdout.readline()
    try:
        for number in range(3):
            attempt = msgspec.structs.replace(wanted, attempt=f"{number:08x}")
            assert anyio.run(measure, attempt).metrics == {"m": 1.0}
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    for path in wanted.folder.parent.iterdir():
        assert discard(path)


#: Fills whatever folder of a scoring there is, from a folder that it stands in, as fast as it can.
WRITER = """
import os, pathlib, sys
top = pathlib.Path(sys.argv[1])
(top / '7').mkdir()
print('ready', flush=True)
handles = {}
for n in range(10**9):
    try:
        for path in top.iterdir():
            if path.name.startswith('7'):
                handles[path.name] = os.open(path, os.O_RDONLY)
        for handle in handles.values():
            os.mkdir(f'left-{n}', dir_fd=handle)
    except OSError:
        handles = {}
"""


@pytest.mark.parametrize("put", ["link", "file", "missing"])
def test_whatever_is_in_the_place_of_a_folder_is_discarded(tmp_path: Path, put: str) -> None:
    path, other = tmp_path / "7", tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    if put == "link":
        path.symlink_to(other)
    elif put == "file":
        path.write_text("x")
    assert discard(path)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (other / "inner").is_dir()


def test_what_cannot_be_removed_is_put_aside_under_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError(39, "Directory not empty", path)

    monkeypatch.setattr(measuring, "delete_entry", refuse)
    (tmp_path / "7").mkdir()
    assert not discard(tmp_path / "7")
    assert [path.name[:5] for path in tmp_path.iterdir()] == ["gone-"]


def marked(folder: Path) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HERDR_AGENT") == f"{folder}:evaluation":
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
