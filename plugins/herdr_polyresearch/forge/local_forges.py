"""Where local forges live, and who we are on them."""

from __future__ import annotations

import getpass
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path

from herdr_polyresearch.forge import rows
from herdr_polyresearch.forge.bare import BareRepo
from herdr_polyresearch.forge.base import MissingError, RejectedError
from herdr_polyresearch.forge.local import LocalForge

LOGIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?")
NAME = re.compile(r"(?:[A-Za-z0-9_-]{1,40}/)?[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
DATABASE = "forge.db"
REPOSITORY = "repo.git"


def local_folder(home: Path) -> Path:
    """The folder of all local forges of a home."""
    return home / "forge" / "local"


def folder_of(home: Path, name: str) -> Path:
    """Where the local forge of this name lives.

    Args:
        home: the home of herdr.
        name: `lab` or `team/lab`.

    Raises:
        RejectedError: it is not a name.
    """
    if not NAME.fullmatch(name) or ".." in name:
        raise RejectedError(
            f"`{name}` is not a name for a local forge",
            fix="use letters, digits, `-`, `_` and `.`, such as `lab`",
        )
    return local_folder(home) / name


def name_of(url: str, home: Path) -> str | None:
    """The local forge that a remote's URL leads to; None for any other URL.

    Args:
        url: the remote's.
        home: the home of herdr.
    """
    path = Path(url.removeprefix("file://"))
    folder = local_folder(home).resolve()
    if path.name != REPOSITORY or not path.resolve().is_relative_to(folder):
        return None
    return path.resolve().parent.relative_to(folder).as_posix()


def local_names(home: Path) -> list[str]:
    """Every local forge of a home."""
    folder = local_folder(home)
    found = [*folder.glob(f"*/{DATABASE}"), *folder.glob(f"*/*/{DATABASE}")]
    return sorted(path.parent.relative_to(folder).as_posix() for path in found)


def login_from(environ: Mapping[str, str]) -> str:
    """Who we are on a local forge: `POLYRESEARCH_LOGIN`, else the name of our account on this machine."""
    return checked_login(environ.get("POLYRESEARCH_LOGIN", "").strip() or getpass.getuser())


def checked_login(login: str) -> str:
    """The login, when it is one.

    Raises:
        RejectedError: it holds what no login may hold.
    """
    if not LOGIN.fullmatch(login):
        raise RejectedError(
            f"`{login}` is not a login", fix="set POLYRESEARCH_LOGIN to letters, digits and `-`, such as `alice`"
        )
    return login


def create_local(
    name: str, *, home: Path, owner: str, default_branch: str = "main", collaborators: Sequence[str] = ()
) -> LocalForge:
    """Make a local forge with an empty repository.

    Args:
        name: `lab` or `team/lab`.
        home: the home of herdr.
        owner: who makes it.
        default_branch: what pull requests are merged into.
        collaborators: who may push, merge, label and close besides the owner; everybody when empty.

    Raises:
        RejectedError: there is one of this name, or a login is none.
    """
    folder = folder_of(home, name)
    named = {owner, *map(checked_login, collaborators)} if collaborators else set()
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        raise RejectedError(
            f"there is a local forge `{name}` already, in {folder}",
            fix=f"use it with `--forge local --repo {name}`, or choose another name",
        ) from None
    BareRepo(folder / REPOSITORY).create(default_branch)
    draft = folder / f"{DATABASE}.new"
    with closing(rows.connect(draft)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.executescript(resources.files("herdr_polyresearch.forge").joinpath("schema.sql").read_text())
        now = rows.text_of(datetime.now(timezone.utc))
        slug = name if "/" in name else f"local/{name}"
        database.execute("INSERT INTO repo VALUES (1, ?, ?, ?, ?)", (slug, default_branch, owner, now))
        database.executemany("INSERT INTO collaborator VALUES (?)", [(login,) for login in sorted(named)])
        database.execute(f"PRAGMA user_version = {rows.VERSION}")
    # Under its real name it is there only when it is complete: nobody opens half a database.
    draft.rename(folder / DATABASE)
    return LocalForge(folder, owner)


def open_local(name: str, *, home: Path, login: str) -> LocalForge:
    """Open a local forge that exists, as `login`.

    Args:
        name: `lab` or `team/lab`.
        home: the home of herdr.
        login: who to be.

    Raises:
        MissingError: there is none of this name.
    """
    folder = folder_of(home, name.removeprefix("local/"))
    if not (folder / DATABASE).exists():
        known = ", ".join(local_names(home)) or "none"
        raise MissingError(
            f"there is no local forge `{name}` in {local_folder(home)} (there are: {known})",
            fix=f"polyresearch forge init {name}",
        )
    return LocalForge(folder, checked_login(login))
