"""Real git for the tests of `herdr.repo`: a runner, a run's worktree, and what must never change."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.worktrees import Worktree, create_run_worktree

Git = Callable[..., str]
MakeRepo = Callable[..., Path]


def run(cwd: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *args], cwd=cwd, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
    return done.stdout.strip()


@pytest.fixture
def git() -> Git:
    """`git(cwd, "log")` gives what it printed; a failure fails the test."""
    return run


@pytest.fixture
def commit() -> Callable[..., str]:
    """`commit(cwd, {"a": "1", "b": None}, "why")` writes and deletes files, commits all, gives the id."""

    def make(cwd: Path, files: dict[str, str | None], message: str = "change") -> str:
        for name, text in files.items():
            if text is None:
                (cwd / name).unlink()
            else:
                (cwd / name).parent.mkdir(parents=True, exist_ok=True)
                (cwd / name).write_text(text)
        run(cwd, "add", "-A")
        run(cwd, "commit", "-q", "--allow-empty", "-m", message)
        return run(cwd, "rev-parse", "HEAD")

    return make


@pytest.fixture
def repo(make_repo: MakeRepo) -> Path:
    return make_repo({"solve.py": "print(1)\n", "evaluate.py": "score\n", "lib/data.txt": "d\n"})


@pytest.fixture
def start(repo: Path) -> Callable[[int], Worktree]:
    """`start(7)` makes the worktree of run 7 of project p."""

    def make(number: int = 1) -> Worktree:
        return create_run_worktree(
            repo, path=repo / ".worktrees" / f"run-{number}-x", branch=f"piloop/p/run-{number}", commit="HEAD"
        )

    return make


@pytest.fixture
def user_state() -> Callable[[Path], dict[str, object]]:
    """Everything of the user's that herdr may not change."""

    def read(root: Path) -> dict[str, object]:
        refs = run(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        inner = root / ".git"
        files = [p for p in root.rglob("*") if p.is_file() and not {".git", ".worktrees"} & set(p.parts)]
        return {
            "config": (inner / "config").read_bytes(),
            "index": (inner / "index").read_bytes(),
            "HEAD": (inner / "HEAD").read_bytes(),
            "reflog": (inner / "logs" / "HEAD").read_bytes(),
            "refs": [ref for ref in refs if not ref.startswith(("refs/heads/piloop/", "refs/piloop/"))],
            "status": run(root, "-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain"),
            "stash": run(root, "stash", "list"),
            "files": {str(p): p.read_bytes() for p in files},
        }

    return read
