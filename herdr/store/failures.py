"""The one place where an error of SQLite becomes a sentence for a person."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from herdr.errors import HerdrError, RefusedError


class StoreError(HerdrError):
    """The database cannot be used as it is; nothing in it was changed."""


# Python 3.10 gives no error codes, so SQLite's own messages tell the cases apart.
KNOWN = (
    (
        "is locked",
        "{path} is locked: another process has been writing to it for seconds",
        "see who holds it with `fuser -v {path}`, and try again",
    ),
    (
        "not a database",
        "{path} is not a SQLite database; it is left as it is",
        "move it away, or put back a copy from {backups}",
    ),
    (
        "malformed",
        "{path} is damaged; it is left as it is",
        "put back a copy from {backups}, or save what is readable: sqlite3 {path} .recover",
    ),
    (
        "disk is full",
        "no space left to write {path}; nothing was changed",
        "free some space (`df -h {folder}`), and try again",
    ),
    (
        "readonly database",
        "{path} cannot be written: the file, its folder or the disk is read-only",
        "check `ls -ld {folder} {path}`, or set PILOOP_HOME to a folder you may write",
    ),
    (
        "disk I/O error",
        "the disk failed under {path}",
        "check the disk and `df -h {folder}`; WAL needs a local disk, not a network one",
    ),
)


def translate(error: sqlite3.Error, path: Path) -> HerdrError:
    """Return what a person should read instead of `error`, which happened on the database at `path`."""
    text = str(error)
    places = {"path": path, "folder": path.parent, "backups": path.parent / "backups"}
    for part, message, fix in KNOWN:
        if part in text:
            return StoreError(message.format(**places), fix=fix.format(**places))
    if "unable to open" in text:
        return cannot_open(path)
    if isinstance(error, sqlite3.IntegrityError):
        return RefusedError(text.removeprefix("CHECK constraint failed: "))
    return StoreError(f"{path}: {text}", fix="run `herdr doctor`")


def cannot_open(path: Path) -> StoreError:
    """Say why the database at `path` cannot be opened, as far as the file system tells."""
    why = "it cannot be opened"
    if path.is_dir():
        why = "it is a directory"
    elif not path.parent.is_dir():
        why = f"{path.parent} is not a directory"
    elif not path.exists():
        why = "it is not there"
    elif not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK):
        why = "permission denied"
    return StoreError(
        f"cannot open the database {path}: {why}",
        fix=f"check `ls -ld {path.parent} {path}`, or set PILOOP_HOME to a folder you may write",
    )


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system about `path` into `HerdrError`.

    Raises:
        StoreError: the database is locked, damaged, read-only, full, or cannot be opened.
        RefusedError: a rule of the schema (a CHECK, a trigger) refuses the change.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except (FileExistsError, NotADirectoryError) as error:
        raise cannot_open(path) from error
    except OSError as error:
        where = error.filename or path
        raise StoreError(
            f"cannot use {where}: {(error.strerror or str(error)).lower()}",
            fix=f"check `ls -ld {path.parent}` and `df -h {path.parent}`, or set PILOOP_HOME",
        ) from error
