from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from herdr.home import Home
from herdr.repo.worktrees import create_run_worktree
from herdr.store.connection import Store
from herdr.store.rows import Run, update


def worktree(store: Store, root: Path, run: int) -> Path:
    path = root / ".worktrees" / f"run-{run}-x"
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    create_run_worktree(root, path=path, branch=f"piloop/tiny/run-{run}", commit=head.stdout.strip())
    update(store, Run, run, {"worktree": str(path), "actor": "daemon"})
    return path


def test_a_worktree_goes_only_when_nothing_is_lost(project: Path, one_run: Any, store: Store, typed: Any) -> None:
    one_run()
    path = worktree(store, project, 1)
    assert "it is in use" in typed("herdr", "clean").out
    settled = {"state": "failed", "settled_at": "2026-01-01T00:00:00.000Z", "actor": "daemon"}
    update(store, Run, 1, settled)
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
    folders = {
        name: home.root / name
        for name in ("evaluations/1", "evaluations/99", "evaluations/init-new", "profiles/gone", "profiles/tiny")
    }
    old = home.root / "evaluations" / "init-old"
    workspace = home.root / "workspaces" / "gone"
    for folder in (*folders.values(), old, workspace):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    os.utime(old, (0, 0))
    out = typed("herdr", "clean").out
    left = {name for name, folder in folders.items() if folder.exists()}
    assert left == {"evaluations/99", "evaluations/init-new", "profiles/tiny"}
    assert not old.exists()
    assert f"stays: workspace {workspace}" in out
    assert workspace.exists()
