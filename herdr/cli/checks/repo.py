"""The repo of the project: what of it agents do without, and what ended runs and other homes left in it."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from pathlib import Path

from herdr.cli.checks import Results, ok, warning
from herdr.config import FILE_NAME, ConfigError, read_config
from herdr.contract.facts import DoctorCheck
from herdr.home import Home
from herdr.printing.values import several
from herdr.repo.checks import hooks_folder
from herdr.repo.git import run_git
from herdr.store.connection import open_store

#: How many names are shown.
SHOWN = 4


def checks(home: Home) -> list[DoctorCheck]:
    """The checks of a repo.

    Args:
        home: the home whose runs work in it.
    """
    return [
        DoctorCheck(name="hooks", run=hooks),
        DoctorCheck(name="other homes", run=partial(others, home)),
        DoctorCheck(name="run folders", run=partial(leftovers, home)),
    ]


def hooks(root: Path | None) -> Results:
    """Whether the repo has hooks, which agents run only where that was asked for."""
    if root is None:
        return ok("you are in no project")
    found = _hooks(hooks_folder(root))
    if not found:
        return ok("the repo has none")
    if _asked_for(root):
        return ok(f"{_listed(found)} run for the commits of agents, too (hooks = true)")
    return ok(
        f"{_listed(found)} will not run for the commits of agents; if they should: hooks = true in {FILE_NAME}"
    )


def _hooks(folder: Path) -> list[str]:
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return []
    return [one.name for one in entries if one.suffix != ".sample" and one.is_file() and os.access(one, os.X_OK)]


def _asked_for(root: Path) -> bool:
    try:
        return (root / FILE_NAME).exists() and read_config(root, os.environ).hooks
    except ConfigError:
        return False


def others(home: Home, root: Path | None) -> Results:
    """Whether runs of other homes have left pins or folders here; theirs stay apart from this home's.

    Args:
        home: this home.
        root: the repo.
    """
    if root is None:
        return ok("you are in no project")
    pins = Counter(
        ref.split("/")[2]
        for ref in run_git(root, "for-each-ref", "--format=%(refname)", "refs/piloop").text.split()
        if ref.count("/") > 2
    )
    known = home.id if home.root.is_dir() else ""
    said = [
        f"{several(count, 'pin')} under refs/piloop/{one}" for one, count in sorted(pins.items()) if one != known
    ]
    paths = _worktrees(root)
    theirs = [path.name for path in paths if not path.name.endswith(f"-{known}") and str(path) not in _ours(home)]
    said += [f"{several(len(theirs), 'folder')} in .worktrees ({_listed(theirs)})"] if theirs else []
    if not said:
        return ok("none works in this repo")
    return ok(f"{'; '.join(said)}: not of this home ({known}), which leaves them alone")


def leftovers(home: Home, root: Path | None) -> Results:
    """Whether ended runs have left folders.

    Args:
        home: the home.
        root: the repo.
    """
    if root is None:
        return ok("you are in no project")
    settled = _ours(home)
    left = [path.name for path in _worktrees(root) if settled.get(str(path))]
    if not left:
        return ok("no ended run has left one")
    return warning(f"{several(len(left), 'ended run')} left {_listed(left)}", "herdr clean (--dry-run says why)")


def _worktrees(root: Path) -> list[Path]:
    folder = root / ".worktrees"
    return sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []


def _ours(home: Home) -> dict[str, bool]:
    """The folders of this home's runs and sweeps, and whether each has settled."""
    if not home.root.is_dir() or not home.database.exists():
        return {}
    store = open_store(home.database, mode="read", actor="human")
    try:
        rows = store.execute(
            "SELECT worktree, settled_at IS NOT NULL FROM runs WHERE worktree IS NOT NULL"
            " UNION ALL SELECT worktree, 0 FROM sweeps WHERE worktree IS NOT NULL"
        ).fetchall()
    finally:
        store.close()
    return {path: bool(settled) for path, settled in rows}


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
