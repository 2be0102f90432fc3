"""A program that is gone from PATH while the fleet lives is named, and no command ends in a traceback."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from herdr.control.sessions import tmux_of
from herdr.home import Home
from herdr.store.connection import Store
from herdr.store.rows import Agent, Project, get


@pytest.fixture
def without_tmux(
    store: Store, one_run: Any, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A live fleet with an agent in a window, and a PATH on which there is git alone."""
    server = tmux_of(Home.from_environ(os.environ), get(store, Project, 1))
    server.ensure()
    session = server.ensure_session("tiny", project, 80, 24)
    one_run()
    (window,) = server.command("list-windows", "-t", session.id, "-F", "#{window_id}")
    Agent.update(store, 1, window=window, pane="%0", actor="daemon")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").symlink_to(str(shutil.which("git")))
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(folder))
        yield
    server.kill()


@pytest.mark.parametrize("words", [("attach",), ("attach", "worker#1"), ("logs", "worker#1"), ("up", "-d")])
def test_a_missing_tmux_is_named(without_tmux: None, typed: Any, words: tuple[str, ...]) -> None:
    done = typed("herdr", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: tmux is not installed, or not on PATH\nfix: ")


def test_clean_goes_on_without_tmux(without_tmux: None, typed: Any) -> None:
    folder = Home.from_environ(os.environ).root / "profiles" / "gone"
    folder.mkdir(parents=True)
    done = typed("herdr", "clean")
    assert (done.code, done.err, folder.exists()) == (0, "", False)
    assert "stays: windows of tiny: tmux is not installed" in done.out


def test_a_missing_git_is_named(root: Path, typed: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from herdr.repo.checks import check_git

    monkeypatch.setenv("PATH", str(tmp_path))
    check_git.cache_clear()
    done = typed("herdr", "init")
    assert (done.code, done.err.splitlines()[0]) == (1, "error: git is not installed, or not on PATH")
