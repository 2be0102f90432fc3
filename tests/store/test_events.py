"""The event log can be added to by triggers and by nothing else, whoever is connected."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest

from herdr.errors import HerdrError, RefusedError
from herdr.store.connection import Store, transaction

TAMPERING = [
    "UPDATE events SET actor = 'x'",
    "UPDATE events SET actor = 'x' WHERE id = 1",
    "UPDATE OR REPLACE events SET id = 2 WHERE id = 1",
    "UPDATE OR IGNORE events SET kind = 'x'",
    "DELETE FROM events",
    "DELETE FROM events WHERE id = 1",
    "REPLACE INTO events (id, kind, actor) VALUES (1, 'x', 'x')",
    "INSERT OR REPLACE INTO events (id, kind, actor) VALUES (1, 'x', 'x')",
    "INSERT INTO events (id, kind, actor) VALUES (1, 'x', 'x') ON CONFLICT (id) DO UPDATE SET kind = 'x'",
    "INSERT OR REPLACE INTO events SELECT * FROM events",
    "UPDATE events SET kind = 'x' FROM ideas WHERE ideas.id = events.id",
    "WITH old AS (SELECT 1 AS id) DELETE FROM events WHERE id IN (SELECT id FROM old)",
]
OURS_ONLY = [
    "INSERT INTO events (kind, actor) VALUES ('x', 'x')",
    "INSERT INTO events (id, kind, actor) VALUES (1000, 'x', 'x')",
    "INSERT OR IGNORE INTO events (id, kind, actor) VALUES (1, 'x', 'x')",
    "CREATE TEMP TRIGGER t AFTER UPDATE ON ideas BEGIN INSERT INTO events (kind, actor) VALUES ('x', 'x'); END",
    "DROP TRIGGER events_no_update",
    "DROP TABLE events",
    "ALTER TABLE events RENAME TO old",
    "CREATE TABLE t (a)",
    "PRAGMA writable_schema = ON",
    "PRAGMA recursive_triggers = OFF",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA journal_mode = DELETE",
    "UPDATE sqlite_master SET sql = ''",
    "ATTACH 'other.db' AS other",
    "VACUUM",
]


def log(store: Store) -> list[tuple[object, ...]]:
    return [tuple(row) for row in store.execute("SELECT * FROM events ORDER BY id")]


@pytest.mark.parametrize("statement", TAMPERING + OURS_ONLY)
def test_our_own_connection_cannot_touch_the_log(store: Store, statement: str) -> None:
    before = log(store)
    with pytest.raises((HerdrError, sqlite3.DatabaseError)), transaction(store):
        store.execute(statement)
    assert log(store) == before


@pytest.mark.parametrize("statement", TAMPERING)
def test_a_plain_connection_cannot_change_the_log(
    store: Store, plain: Callable[[str], object], statement: str
) -> None:
    before = log(store)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        plain(statement)
    assert log(store) == before


def test_rows_and_the_emit_view_add_to_the_log(store: Store) -> None:
    last = len(log(store))
    store.execute("UPDATE ideas SET priority = 0, actor = 'human'")
    store.execute("INSERT INTO emit (kind, actor) VALUES ('daemon.started', 'daemon')")
    assert [(row[2], row[3]) for row in log(store)[last:]] == [
        ("idea.edited", "human"),
        ("daemon.started", "daemon"),
    ]


def test_a_plain_connection_can_read_and_the_triggers_work_for_it(
    store: Store, plain: Callable[[str], list[tuple[object, ...]]]
) -> None:
    plain("UPDATE ideas SET status = 'parked', actor = 'human'")
    assert plain("SELECT kind, actor FROM events ORDER BY id DESC LIMIT 1") == [("idea.status", "human")]
    assert plain("PRAGMA integrity_check") == [("ok",)]


def test_a_failed_transaction_leaves_neither_row_nor_event(store: Store) -> None:
    before = log(store)
    with pytest.raises(RefusedError), transaction(store):
        store.executemany("UPDATE ideas SET priority = ?", [(0,), (9,)])
    assert log(store) == before
    assert not store.in_transaction


def test_an_id_below_one_is_refused_because_it_would_block_all_that_follow(
    plain: Callable[[str], list[tuple[object, ...]]],
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="counts up from 1"):
        plain("INSERT INTO events (id, kind, actor) VALUES (-1, 'x', 'y')")
    plain("INSERT INTO events (kind, actor) VALUES ('x', 'y')")
