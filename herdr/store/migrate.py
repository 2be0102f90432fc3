"""Brings a database file to the schema that this version of herdr knows, or leaves it as it was."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from herdr.locking import open_lock, take_lock
from herdr.store.backup import backup, sync
from herdr.store.failures import StoreError, store_errors

SCHEMA_FOLDER = Path(__file__).with_name("schema")
#: Marks a file as herdr's (`PRAGMA application_id`): "hrdr".
APPLICATION_ID = 0x68726472
BUSY_MS = 5000
LOCK_SECONDS = 60.0


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One numbered change of the schema."""

    number: int
    name: str
    sql: str


def steps_in(folder: Path) -> list[Step]:
    """Return the changes in `folder`, files named like `0001_initial.sql`, in order."""
    found = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    return [Step(number=int(path.name[:4]), name=path.stem[5:], sql=path.read_text("utf-8")) for path in found]


def known_version() -> int:
    """Return the newest schema that this version of herdr knows."""
    return max(int(path.name[:4]) for path in SCHEMA_FOLDER.glob("[0-9][0-9][0-9][0-9]_*.sql"))


def connect(
    path: Path, *, read_only: bool = False, factory: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection:
    """Open the file at `path`, which must be there: SQLite would silently make an empty one.

    Args:
        path: the database's file.
        read_only: open it so that nothing can be written.
        factory: the class of the connection.
    """
    uri = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_MS / 1000, factory=factory)


def schema_version(connection: sqlite3.Connection, path: Path, known: int) -> int:
    """Return the version of an open database's schema.

    Args:
        connection: an open database.
        path: its file, for the error.
        known: the newest schema that is understood.

    Raises:
        StoreError: the schema is newer than `known`, or the file is another program's.
    """
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    mark = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if mark != APPLICATION_ID:
        raise StoreError(
            f"{path} is a SQLite database, but not one of herdr's; it is left as it is",
            fix="move it away, or set PILOOP_HOME to another folder",
        )
    if version > known:
        raise StoreError(
            f"{path} was written by a newer herdr (schema {version}; this one knows {known})",
            fix="upgrade herdr, or set PILOOP_HOME to another folder",
        )
    return version


def refuse_remains(path: Path) -> None:
    """Refuse what a damaged or half-deleted database leaves behind, before anything is written over it.

    A new database comes into being by a rename, so one of no bytes was truncated; and SQLite would replay a
    `-wal` file whose database is gone into the new one.
    """
    wal = path.with_name(f"{path.name}-wal")
    if path.is_file() and path.stat().st_size == 0:
        raise StoreError(
            f"{path} is empty (0 bytes): it was truncated; it is left as it is",
            fix=f"put back a copy from {path.parent / 'backups'}, or delete it to start anew",
        )
    if not path.exists() and wal.exists() and wal.stat().st_size:
        raise StoreError(
            f"{path} is gone, but its changes are still in {wal.name}; it is left as it is",
            fix=f"put the database back beside it, or delete {wal} to start anew",
        )


def migrate(path: Path, steps: Sequence[Step] | None = None) -> None:
    """Create the database at `path`, or bring it to the last of `steps`; one process at a time.

    Each step is one transaction, made after a verified copy into the folder `backups` beside `path`; a step
    that fails leaves the schema before it.

    Raises:
        StoreError: the file is newer, damaged, another program's, or a step failed.
    """
    steps = steps_in(SCHEMA_FOLDER) if steps is None else steps
    with store_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with migration_lock(path):
            if path.exists():
                upgrade(path, steps)
            else:
                create(path, steps)


@contextlib.contextmanager
def migration_lock(path: Path) -> Iterator[None]:
    """Hold the lock file beside `path`; the kernel lets it go when its holder dies."""
    lock = path.with_name(f"{path.name}.lock")
    descriptor = open_lock(lock)
    try:
        if not take_lock(descriptor, LOCK_SECONDS):
            raise StoreError(
                f"another herdr has been changing the schema of {path} for {LOCK_SECONDS:.0f} s",
                fix=f"see who holds it with `fuser -v {lock}`",
            )
        yield
    finally:
        os.close(descriptor)


def create(path: Path, steps: Sequence[Step]) -> None:
    """Build a new database beside `path` and rename it into place, so that no half-made one is ever seen.

    Args:
        path: where the database goes; nothing is there.
        steps: all steps, from the first one on.
    """
    unfinished = path.with_name(f"{path.name}.new")
    for rest in ("", "-wal", "-shm", "-journal"):
        unfinished.with_name(unfinished.name + rest).unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with contextlib.closing(connect(unfinished)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # a crash leaves a file that the next start removes
        connection.execute("PRAGMA journal_mode = MEMORY")
        for step in steps:
            apply(connection, step, path)
        connection.execute("PRAGMA journal_mode = WAL")
    sync(unfinished)
    unfinished.replace(path)
    sync(path.parent)


def upgrade(path: Path, steps: Sequence[Step]) -> None:
    """Apply to the existing database those of `steps` that it has not seen.

    Args:
        path: the database's file.
        steps: all steps, from the first one on.
    """
    with contextlib.closing(connect(path)) as connection:
        version = schema_version(connection, path, known=steps[-1].number)
        for step in steps:
            if step.number > version:
                backup(connection, path.parent / "backups", f"{path.stem}-schema{step.number - 1}")
                apply(connection, step, path)


def apply(connection: sqlite3.Connection, step: Step, path: Path) -> None:
    """Make one step of the schema, whole or not at all.

    Args:
        connection: an open database, outside a transaction.
        step: the next step.
        path: the database's file, for the error.
    """
    # Rebuilding a table needs foreign keys off, which works only outside a transaction; they are checked below.
    connection.execute("PRAGMA foreign_keys = OFF")
    # Whatever else names the table goes on naming it, and is not looked through while it is away.
    connection.execute("PRAGMA legacy_alter_table = ON")
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{step.sql}")
        orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
        if orphans:
            raise sqlite3.IntegrityError(f"rows of {orphans[0][0]} would refer to nothing")
        connection.execute(f"PRAGMA user_version = {step.number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise StoreError(
            f"cannot bring {path} to schema {step.number} ({step.name}): {error}; it stays as it was",
            fix="if it is not for want of space or a lock, this is a bug of herdr: keep the file and report it",
        ) from error
