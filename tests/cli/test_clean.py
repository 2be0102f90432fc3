from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from herdr.control.sessions import tmux_of
from herdr.home import Home
from herdr.mux.windows import AGENT_OPTION
from herdr.repo.checks import head_commit
from herdr.repo.isolated import Isolated, create
from herdr.repo.own import own_of
from herdr.store.connection import Store
from herdr.store.rows import Agent, Project, Run, get


def worktree(store: Store, root: Path, run: int) -> Path:
    home = Home.from_environ(os.environ)
    path = root / ".worktrees" / f"run-{run}-x"
    place = Isolated(repository=home.repositories(root) / f"run-{run}.git", worktree=path)
    create(place, own_of(home, root, "tiny"), commit=head_commit(root), branch=f"piloop/tiny/run-{run}")
    Run.update(store, run, worktree=str(path), actor="daemon")
    return path


def test_a_worktree_goes_only_when_nothing_is_lost(project: Path, one_run: Any, store: Store, typed: Any) -> None:
    one_run()
    path = worktree(store, project, 1)
    assert "it is in use" in typed("herdr", "clean").out
    Run.update(store, 1, state="failed", settled_at="2026-01-01T00:00:00.000Z", actor="daemon")
    (path / "work").write_text("unsaved")
    assert "it has uncommitted work" in typed("herdr", "clean").out
    (path / "work").unlink()
    assert f"would remove: worktree {path}" in typed("herdr", "clean", "--dry-run").out
    assert path.exists()
    done = typed("herdr", "clean")
    assert (done.code, path.exists()) == (0, False)
    assert "1 thing removed" in done.out
    assert "0 things removed" in typed("herdr", "clean").out


def test_evaluations_and_profiles_that_nobody_needs(project: Path, store: Store, typed: Any) -> None:
    home = Home.from_environ(os.environ)
    gone = subprocess.Popen(["true"])
    gone.wait()
    folders = {
        name: home.root / name
        for name in (
            "evaluations/1",
            "evaluations/99",
            f"evaluations/init-{os.getpid()}-new",
            "evaluations/1-0123abcd",
            "evaluations/99-0123abcd",
            "evaluations/gone-0123456789abcdef",
            "profiles/gone",
            "profiles/tiny",
        )
    }
    old = home.root / "evaluations" / f"init-{gone.pid}-old"
    workspace = home.root / "workspaces" / "gone"
    for folder in (*folders.values(), old, workspace):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    out = typed("herdr", "clean").out
    left = {name for name, folder in folders.items() if folder.exists()}
    assert left == {"evaluations/99", f"evaluations/init-{os.getpid()}-new", "profiles/tiny"}
    assert not old.exists()
    assert f"stays: workspace {workspace}" in out
    assert workspace.exists()


def test_windows_go_once_their_agents_end_is_known(project: Path, one_run: Any, store: Store, typed: Any) -> None:
    one_run()
    server = tmux_of(Home.from_environ(os.environ), get(store, Project, 1))
    server.ensure()
    session = server.ensure_session("tiny", project, 80, 24).id
    windows = [
        server.command("new-window", "-d", "-P", "-F", "#{window_id}", "-n", name, "-t", f"{session}:", "true")[0]
        for name in ("worker-1", "mine")
    ]
    server.command("set-option", "-w", "-t", windows[0], AGENT_OPTION, "1")
    dead = ("list-panes", "-s", "-t", session, "-f", "#{pane_dead}", "-F", "#{window_id}")
    deadline = time.monotonic() + 10
    while len(server.command(*dead)) < 2:
        assert time.monotonic() < deadline
    Agent.update(store, 1, window=windows[0], actor="daemon")
    assert "window" not in typed("herdr", "clean").out
    Agent.update(store, 1, state="ended", actor="daemon")
    assert "removed: window worker-1 of tiny" in typed("herdr", "clean").out
    assert server.command(*dead) == [windows[1]]


def test_a_worktree_of_a_killed_init_goes(project: Path, store: Store, typed: Any) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    home = Home.from_environ(os.environ)
    folder = home.root / "evaluations" / f"init-{gone.pid}-x-0123abcd"
    place = Isolated(repository=folder / "repository.git", worktree=folder / "worktree")
    create(place, own_of(home, project, "tiny"), commit=head_commit(project), branch=None)
    assert f"removed: evaluation {folder}" in typed("herdr", "clean").out
    assert not folder.exists()
