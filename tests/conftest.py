"""Every test has a HOME, a PILOOP_HOME and a tmux socket of its own; none can reach the user's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

GIT_IDENTITY = {
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.com",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.com",
    "GIT_CONFIG_NOSYSTEM": "1",
}
INHERITED = ("TMUX", "TMUX_PANE", "CLAUDECODE", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


@pytest.fixture(autouse=True)
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh HOME, and a short TMUX_TMPDIR, because a socket's path may hold only about 100 bytes."""
    home = tmp_path_factory.mktemp("home")
    sockets = Path(tempfile.mkdtemp(prefix="h-", dir="/tmp"))
    for name in [*INHERITED, *(n for n in os.environ if n.startswith(("PILOOP_", "HERDR_")))]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PILOOP_HOME", str(home / ".piloop"))
    monkeypatch.setenv("TMUX_TMPDIR", str(sockets))
    for name, value in GIT_IDENTITY.items():
        monkeypatch.setenv(name, value)
    yield home
    for socket in sockets.glob("tmux-*/*"):
        subprocess.run(["tmux", "-S", str(socket), "kill-server"], capture_output=True, check=False)
    shutil.rmtree(sockets, ignore_errors=True)


def git(cwd: Path, *args: str) -> str:
    """Run git in `cwd` and return what it printed, stripped."""
    done = subprocess.run(["git", *args], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {' '.join(args)}: {done.stderr}"
    return done.stdout.strip()


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Path]:
    """`make_repo({"a.txt": "1"})` gives a repo on branch main with these files in its one commit."""

    def make(files: dict[str, str] | None = None, name: str = "repo") -> Path:
        root = tmp_path / name
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        for path, text in (files or {"README.md": "x\n"}).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "first")
        return root

    return make
