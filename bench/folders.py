"""A repository for each run, beside a linked worktree: making it, taking its commit over, removing it."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.report import Row, figure, spread
from herdr.repo.checks import head_commit
from herdr.repo.isolated import Isolated
from herdr.repo.own import OwnRepository, open_own
from herdr.repo.run_folder import RunFolder

SMALL, FILES, FILE_SIZE = 10, 5_000, 2_000
ROUNDS, BIG_ROUNDS = 15, 3
#: Milliseconds more than a linked worktree, on a small repo.
AT_START, AT_END = 10.0, 25.0
NOBODY = {
    "GIT_AUTHOR_NAME": "b",
    "GIT_AUTHOR_EMAIL": "b@b",
    "GIT_COMMITTER_NAME": "b",
    "GIT_COMMITTER_EMAIL": "b@b",
}


def measure(files: int = FILES) -> list[Row]:
    """Times on a small and on a big repo, round by round, and how much a run's repository takes.

    Args:
        files: how many files the big repo has.
    """
    rows = []
    for name, count, rounds in (("small", SMALL, ROUNDS), (f"{files} files", files, BIG_ROUNDS)):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            rows += _measure(name, Path(folder), count, rounds)
    return rows


def _measure(name: str, top: Path, files: int, rounds: int) -> list[Row]:
    root = _repo(top / "repo", files)
    own = open_own(top / "home" / "own.git", root, "refs/piloop/00000000/bench/")
    starts: list[tuple[float, float]] = []
    ends: list[tuple[float, float]] = []
    size = 0
    for number in range(rounds):
        linked, folder = root / ".worktrees" / f"linked-{number}", _folder(own, number)
        branch, since = f"linked-{number}", int(time.time())
        plain = _time(_git, root, "worktree", "add", "-q", "-b", branch, str(linked), "HEAD")
        starts.append((plain, _time(folder.make)))
        for worktree in (linked, folder.place.worktree):
            (worktree / "file-0").write_text(str(worktree))
            _git(worktree, "commit", "-qam", "work")
        size = max(size, _size(folder.place.repository / "objects"))
        plain = _time(_end_linked, root, linked, branch)
        ends.append((plain, _time(_end, folder, since)))
    small = name == "small"
    return [
        *_rows(f"start of a run, {name}", starts, AT_START if small else None),
        *_rows(f"end of a run, {name}", ends, AT_END if small else None),
        figure(f"a run's own objects, {name}", size / 1e6, "MB", note="of one commit: all else is borrowed"),
    ]


def _rows(what: str, times: list[tuple[float, float]], budget: float | None) -> list[Row]:
    more = [own - plain for plain, own in times]
    return [
        spread(f"{what}: a linked worktree", [plain for plain, _ in times], "ms"),
        spread(f"{what}: more than that", more, "ms", budget=budget),
    ]


def _folder(own: OwnRepository, number: int) -> RunFolder:
    place = Isolated(
        repository=own.path.parent / f"run-{number}.git", worktree=own.root / ".worktrees" / f"run-{number}"
    )
    return RunFolder(
        name=f"run-{number}", own=own, place=place, base=head_commit(own.root), branch=f"piloop/b/run-{number}"
    )


def _end_linked(root: Path, linked: Path, branch: str) -> None:
    """What a linked worktree needs: commits listed and pinned, what is uncommitted looked for, both removed."""
    _git(root, "rev-list", f"HEAD..{branch}")
    _git(root, "update-ref", f"refs/piloop/{branch}", branch)
    _git(linked, "status", "--porcelain")
    _git(root, "worktree", "remove", "--force", str(linked))
    _git(root, "branch", "-qD", branch)


def _end(folder: RunFolder, since: int) -> None:
    folder.collect(since)
    folder.recover("worker#1")
    folder.remove()


def _repo(root: Path, files: int) -> Path:
    root.mkdir()
    _git(root, "init", "-q", "-b", "main")
    for number in range(files):
        path = root / f"folder-{number // 500}" / f"file-{number}" if number else root / "file-0"
        path.parent.mkdir(exist_ok=True)
        path.write_text(secrets.token_hex(FILE_SIZE // 2))
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "first")
    _git(root, "repack", "-adq")
    return root


def _git(cwd: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, env=os.environ | NOBODY)


def _time(act: Callable[..., object], *arguments: object) -> float:
    begin = time.perf_counter()
    act(*arguments)
    return 1000 * (time.perf_counter() - begin)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
