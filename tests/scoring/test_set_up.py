"""The `[setup]` command of a scoring: where it runs, what it may do, and whose fault its failure is."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import msgspec
import psutil
import pytest

from herdr.config.structs import SetUp
from herdr.repo.checks import head_commit
from herdr.repo.own import open_own
from herdr.runtime.processes import MARK
from herdr.scoring.contents import record
from herdr.scoring.measure import Job, evaluator_environment, measure
from herdr.scoring.set_up import Command, SetUpError, set_up, what_it_reads

MakeRepo = Callable[..., Path]
MakeJob = Callable[..., Job]
EVALUATE = "print('METRIC m=' + open('made').read())\n"
#: Fails when the project's manifest says so.
READS = ["sh", "-c", "grep -q broken package.json && { echo no such package >&2; exit 3; }; echo 7 > made"]


@pytest.fixture
def job(make_repo: MakeRepo, tmp_path: Path) -> MakeJob:
    """`job(argv)` is a scoring with that set-up; `candidate` files are committed on top."""

    def make(
        argv: Sequence[str], candidate: dict[str, str] | None = None, timeout: float = 20, manifest: str = "{}"
    ) -> Job:
        root = make_repo({"evaluate.py": EVALUATE, "package.json": manifest, "code.py": "1"})
        own = open_own(tmp_path / "own.git", root, "refs/piloop/0123abcd/p/")
        evaluator = head_commit(root)
        for path, text in (candidate or {}).items():
            (root / path).write_text(text)
        subprocess.run(["git", "add", "-A"], cwd=root, check=True)
        subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "candidate"], cwd=root, check=True)
        env, mark = evaluator_environment(os.environ, []), f"{tmp_path}:evaluation"
        return Job(
            own=own,
            commit=head_commit(root),
            evaluator_commit=evaluator,
            protected=["/evaluate.py"],
            contents=record(own, evaluator, ["evaluate.py"]),
            argv=["python3", "evaluate.py"],
            metrics=["m"],
            link=[],
            setup=Command(argv=argv, timeout=timeout, env=env, mark=mark),
            setup_reads=what_it_reads(None, root, argv),
            timeout=20,
            env=env,
            folder=tmp_path / "evaluations" / "7",
            mark=mark,
        )

    return make


def test_it_runs_before_the_evaluate_command_in_the_same_folder(job: MakeJob) -> None:
    score = anyio.run(measure, job(READS))
    assert (score.metrics, score.error) == ({"m": 7.0}, None)
    assert score.setup_seconds is not None
    assert score.setup_seconds < 20


def test_a_failure_that_is_not_the_candidates_is_no_verdict(job: MakeJob) -> None:
    with pytest.raises(SetUpError, match=r"\[setup\] sh .* exited with status 3: no such package"):
        anyio.run(measure, job(READS, {"code.py": "2"}, manifest="broken"))


def test_a_failure_after_the_candidate_changed_what_it_reads_is_a_crash(job: MakeJob) -> None:
    score = anyio.run(measure, job(READS, {"package.json": "broken", "code.py": "2"}))
    assert score.error is not None
    assert score.error.endswith("exited with status 3: no such package (the candidate changed package.json)")
    assert score.metrics == {}


def test_what_an_earlier_candidate_changed_is_not_this_ones(job: MakeJob) -> None:
    made = job(READS, {"package.json": "broken"})
    with pytest.raises(SetUpError):
        anyio.run(measure, msgspec.structs.replace(made, base=made.commit))


def test_it_may_not_change_the_evaluator(job: MakeJob) -> None:
    evil = "print('METRIC m=999')"
    score = anyio.run(measure, job(["sh", "-c", f'echo "{evil}" > evaluate.py; echo 1 > made']))
    assert score.metrics == {}
    assert "after the set-up, the evaluator's evaluate.py" in (score.error or "")


def test_it_is_ended_with_its_tree_when_it_is_too_slow(job: MakeJob, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    slow = ["sh", "-c", f"setsid sleep 600 & echo $! > {pid}; sleep 600"]
    with pytest.raises(SetUpError, match="ran longer than 1 s: it printed nothing"):
        anyio.run(measure, job(slow, timeout=1))
    with contextlib.suppress(psutil.NoSuchProcess):
        # Whoever adopts it may not have buried it yet.
        assert psutil.Process(int(pid.read_text())).status() == psutil.STATUS_ZOMBIE


def test_it_gets_the_environment_of_the_evaluate_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hush")
    env = evaluator_environment(os.environ, [])
    command = Command(argv=["sh", "-c", "env > seen; pwd > here"], timeout=20, env=env, mark=f"{tmp_path}:x")
    anyio.run(set_up, command, tmp_path)
    seen = (tmp_path / "seen").read_text()
    assert "A_SECRET" not in seen
    assert f"{MARK}=" in seen
    assert "HOME=" in seen
    assert (tmp_path / "here").read_text().strip() == str(tmp_path)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    command = Command(argv=["no-such-program"], timeout=20, env=dict(os.environ), mark=f"{tmp_path}:x")
    with pytest.raises(SetUpError, match="cannot run no-such-program: No such file"):
        anyio.run(set_up, command, tmp_path)


def test_what_it_reads_can_be_said(make_repo: MakeRepo) -> None:
    root = make_repo({"scripts/ready.sh": "true"})
    argv = ("sh", "scripts/ready.sh")
    assert "/scripts/ready.sh" in what_it_reads(None, root, argv)
    assert "uv.lock" in what_it_reads(None, root, argv)
    assert what_it_reads(SetUp(command=argv, reads=("/src/",)), root, argv) == ("/src/",)
