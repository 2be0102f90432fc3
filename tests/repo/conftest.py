"""Real git for the tests of `herdr.repo`: a runner, a run's folder, and what must never change."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit
from herdr.repo.isolated import Isolated
from herdr.repo.own import OwnRepository, open_own
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
MakeRepo = Callable[..., Path]
#: What the pins of these tests begin with.
PINS = "refs/piloop/0a1b2c3d/p/"


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
def own_of(tmp_path: Path) -> Callable[[Path], OwnRepository]:
    """`own_of(root)` is herdr's own repository for a checkout."""

    def make(root: Path) -> OwnRepository:
        return open_own(tmp_path / "home" / root.name / "own.git", root, PINS)

    return make


@pytest.fixture
def start(repo: Path, own_of: Callable[[Path], OwnRepository]) -> Callable[..., RunFolder]:
    """`start(7)` makes the folder of run 7 of project p from the checkout's HEAD."""

    def make(number: int = 1, root: Path | None = None, **options: object) -> RunFolder:
        own = own_of(root or repo)
        place = Isolated(
            repository=own.path.parent / f"run-{number}.git", worktree=own.root / ".worktrees" / f"run-{number}-x"
        )
        values = {"base": head_commit(own.root), "branch": f"piloop/p/run-{number}", **options}
        folder = RunFolder(name=f"run-{number}", own=own, place=place, **values)  # type: ignore[arg-type]
        assert folder.make() == []
        return folder

    return make


@pytest.fixture
def since() -> int:
    """When the runs of a test started."""
    return int(time.time())


def persons_state(root: Path) -> dict[str, object]:
    """All that is the person's, byte for byte: the checkout and its git folder, but objects and pins."""
    found: dict[str, object] = {}
    for parent, folders, names in os.walk(root):
        here = Path(parent).relative_to(root)
        folders[:] = [name for name in folders if not _is_herdrs(here / name)]
        for name in names:
            path = Path(parent, name)
            mode = path.lstat().st_mode
            content = (
                path.read_bytes() if stat.S_ISREG(mode) else str(path.readlink()) if stat.S_ISLNK(mode) else ""
            )
            found[str(here / name)] = (mode, content)
    return found


def _is_herdrs(path: Path) -> bool:
    # `info/` and `pack/` of the objects belong to them.
    return str(path) in (".worktrees", ".git/objects", ".git/refs/piloop")


@pytest.fixture
def user_state() -> Callable[[Path], dict[str, object]]:
    """Everything of the user's that herdr may not change."""
    return persons_state
