"""Opens the database with the rules that every connection of herdr keeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from herdr.store.authorizer import own
from herdr.store.failures import StoreError, store_errors
from herdr.store.migrate import connect, known_version, migrate, refuse_remains, schema_version

Mode = Literal["daemon", "person", "read"]


class Store(sqlite3.Connection):
    """A connection that knows its file and who writes through it.

    Attributes:
        path: the database file.
        actor: who writes: human, orchestrator, daemon, or an agent such as worker#12.
    """

    path: Path
    actor: str


def open_store(path: Path, *, mode: Mode, actor: str) -> Store:
    """Open the database at `path`, at the schema this version of herdr knows; made or migrated if need be.

    Statements run one by one unless they are inside `transaction`. Rows are `sqlite3.Row`.

    Args:
        path: the database file.
        mode: `daemon` and `person` write, and create what is missing; `read` never changes a row.
        actor: who writes.

    Raises:
        StoreError: the file is newer, damaged, another program's, locked, or cannot be opened.
    """
    with store_errors(path):
        refuse_remains(path)
        if not path.exists():
            if mode == "read":
                raise StoreError(f"there is no herdr database at {path}", fix="run `herdr init` in a repo")
            migrate(path)
        if version_of(path) < known_version():
            migrate(path)
        store = connect(path, read_only=mode == "read", factory=Store)
        assert isinstance(store, Store)
        try:
            prepare(store, mode)
        except BaseException:
            store.close()
            raise
    store.path, store.actor = path, actor
    return store


def version_of(path: Path) -> int:
    """Return the schema version of the file at `path`, which must be herdr's and not newer."""
    connection = connect(path)
    try:
        return schema_version(connection, path, known_version())
    finally:
        connection.close()


def prepare(store: Store, mode: Mode) -> None:
    """Set what every connection of herdr needs, and let the authorizer guard it from then on."""
    store.row_factory = sqlite3.Row
    store.execute("SELECT 1 FROM sqlite_schema LIMIT 1").close()  # finds a damaged schema now, not in mid-work
    if mode == "daemon":
        store.execute("PRAGMA journal_mode = WAL")
    store.execute("PRAGMA synchronous = NORMAL")
    store.execute("PRAGMA foreign_keys = ON")
    # Without it INSERT OR REPLACE deletes rows and no delete trigger sees it.
    store.execute("PRAGMA recursive_triggers = ON")
    store.execute("PRAGMA temp_store = MEMORY")
    store.set_authorizer(own)


@contextmanager
def transaction(store: Store) -> Iterator[Store]:
    """All or nothing: commit what happens inside, or roll it back when it raises; inside another, part of that.

    The write lock is taken at once, so that two readers that want to write cannot block each other for good.

    Raises:
        StoreError: the database is locked, damaged, read-only or full.
        RefusedError: a rule of the schema refuses the change.
    """
    if store.in_transaction:
        yield store
        return
    with store_errors(store.path):
        store.execute("BEGIN IMMEDIATE")
        try:
            yield store
            store.execute("COMMIT")
        except BaseException:
            # SQLite has already rolled back by itself after some errors, a full disk among them.
            if store.in_transaction:
                store.execute("ROLLBACK")
            raise
