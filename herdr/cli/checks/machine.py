"""The programs that herdr needs, and the shell it is typed in."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from herdr.cli.checks import Results, always, error, ok, warning
from herdr.config import FILE_NAME, ConfigError, read_config
from herdr.contract.facts import DoctorCheck
from herdr.errors import HerdrError
from herdr.mux.server import check_tmux
from herdr.repo.checks import check_git, too_old
from herdr.repo.git import run_git

#: STRICT tables came with it.
OLDEST_SQLITE = (3, 37, 0)
PROGRAMS = ("herdr", "piloop")


def checks(environ: Mapping[str, str]) -> list[DoctorCheck]:
    """The checks of this machine, as this environment sees it."""
    return [
        DoctorCheck(name="tmux", run=partial(tmux, environ)),
        always("git", git),
        always("python", python),
        *(always(name, partial(on_path, name, environ)) for name in PROGRAMS),
        always("locale", partial(locale, environ)),
    ]


def tmux(environ: Mapping[str, str], root: Path | None) -> Results:
    """Whether tmux is there and new enough, where the project's agents run in it.

    Args:
        environ: the variables of the shell.
        root: the repo, if there is one.
    """
    try:
        return ok(check_tmux(environ))
    except HerdrError as wrong:
        if root is not None and _in_background(root, environ):
            return ok(f'{wrong.message}; not needed with runtime = "subprocess"')
        raise


def _in_background(root: Path, environ: Mapping[str, str]) -> bool:
    try:
        return (root / FILE_NAME).exists() and read_config(root, environ).runtime == "subprocess"
    except ConfigError:
        return False


def git() -> Results:
    """Whether git is there and new enough, also for what keeps herdr's own git from fetching."""
    check_git()
    missing = too_old()
    if missing:
        return warning("; ".join(missing), "install git 2.45 or newer")
    return ok(run_git(Path("/"), "version").text)


def python() -> Results:
    """Whether Python's SQLite knows the tables that the store is made of."""
    said = f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return error(
            f"{said} is too old: herdr needs SQLite 3.37", "use another Python, such as `uv python install`"
        )
    return ok(said)


def on_path(name: str, environ: Mapping[str, str]) -> Results:
    """Whether the name, typed in a shell, is this installation and nothing else.

    Args:
        name: `herdr` or `piloop`.
        environ: the variables of the shell.
    """
    ours = Path(sys.executable).parent / name
    first = shutil.which(name, path=environ.get("PATH", ""))
    if first is None:
        return warning(f"{name} is not on PATH", f'export PATH="{ours.parent}:$PATH"')
    if ours.exists() and Path(first).resolve() != ours.resolve():
        return warning(
            f"{first} comes first on PATH, and is not this one ({ours})", f'export PATH="{ours.parent}:$PATH"'
        )
    others = [path for path in _all(name, environ) if path.resolve() != Path(first).resolve()]
    if others:
        return ok(f"{first} (also on PATH: {', '.join(map(str, others))})")
    return ok(first)


def _all(name: str, environ: Mapping[str, str]) -> list[Path]:
    folders = dict.fromkeys(environ.get("PATH", "").split(os.pathsep))
    return [Path(found) for folder in folders if folder and (found := shutil.which(name, path=folder))]


def locale(environ: Mapping[str, str]) -> Results:
    """Whether the terminal is told to use UTF-8."""
    said = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "not set")
    if "utf-8" in said.lower() or "utf8" in said.lower():
        return ok(said)
    return warning(
        f"the locale ({said}) is not UTF-8; your own terminal may garble text", "export LC_ALL=C.UTF-8"
    )
