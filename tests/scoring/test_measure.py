"""Scoring a commit for real: worktree, overlay, environment, timeout, what is left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import psutil
import pytest

from herdr.repo.checks import head_commit
from herdr.repo.worktrees import list_worktrees
from herdr.scoring.measure import Job, ScoringResult, evaluator_environment, measure

MakeRepo = Callable[..., Path]
Scored = Callable[..., ScoringResult]


@pytest.fixture
def scored(make_repo: MakeRepo, tmp_path: Path) -> Scored:
    """`scored(script)` scores a repo with that evaluate.py; `candidate` files are committed on top."""

    def run(script: str, *, candidate: dict[str, str] | None = None, timeout: float = 20.0) -> ScoringResult:
        root = make_repo({"evaluate.py": script, "data.txt": "1\n"})
        evaluator = head_commit(root)
        for path, text in (candidate or {}).items():
            (root / path).write_text(text)
        subprocess.run(["git", "add", "-A"], cwd=root, check=True)
        subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "candidate"], cwd=root, check=True)
        job = Job(
            root=root,
            commit=head_commit(root),
            evaluator_commit=evaluator,
            protected=["/evaluate.py"],
            argv=["python3", "evaluate.py"],
            metrics=["m"],
            link=[],
            workspace=tmp_path / "workspace",
            timeout=timeout,
            env=evaluator_environment(os.environ, []),
            folder=tmp_path / "evaluation",
            mark=f"{tmp_path}:evaluation",
        )
        score = anyio.run(measure, job)
        assert [tree.path for tree in list_worktrees(root)] == [root.resolve()]
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


def marked(folder: Path) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("HERDR_AGENT") == f"{folder}:evaluation":
                found.append(process.pid)
        except psutil.Error:
            continue
    return found
