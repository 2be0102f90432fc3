"""Verified copies of the database, the newest few kept."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from pathlib import Path

from herdr.store.failures import StoreError

KEPT = 3


def damage(connection: sqlite3.Connection) -> list[str]:
    """Return what `PRAGMA quick_check` finds wrong, nothing when the database is sound."""
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(10)")]
    return [] if found == ["ok"] else found


def backup(source: sqlite3.Connection, folder: Path, label: str) -> Path:
    """Copy the open database `source` into `folder`, check the copy, and drop all but the newest copies.

    Args:
        source: an open connection; writers may go on meanwhile.
        folder: where the copies are kept; made when it is not there.
        label: what the copy is of, part of its name.

    Raises:
        StoreError: the copy is damaged, so `source` is too; no older copy was dropped.
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder / f"{label}-{time.time_ns()}.db"
    unfinished = target.with_suffix(".part")
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with contextlib.closing(sqlite3.connect(unfinished, isolation_level=None)) as copy:
            source.backup(copy)
            # A copy of a WAL database is one too, and would grow -wal and -shm files of its own when read.
            copy.execute("PRAGMA journal_mode = DELETE")
            problems = damage(copy)
        if problems:
            raise StoreError(
                f"the database does not copy soundly: {problems[0]}",
                fix=f"put back an older copy from {folder}, or run `herdr doctor`",
            )
        sync(unfinished)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    for old in backups(folder)[KEPT:]:
        old.unlink(missing_ok=True)
    return target


def backups(folder: Path) -> list[Path]:
    """Return the copies in `folder`, newest first."""
    return sorted(folder.glob("*.db"), key=lambda path: int(path.stem.rpartition("-")[2]), reverse=True)


def sync(path: Path) -> None:
    """Make the file or directory at `path` survive a loss of power."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
