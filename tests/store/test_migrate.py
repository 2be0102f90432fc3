"""The schema moves by numbered steps, each whole or not at all, with a copy of what was before."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from herdr.store.backup import KEPT, backup, backups
from herdr.store.connection import Store, open_store
from herdr.store.failures import StoreError
from herdr.store.migrate import SCHEMA_FOLDER, Step, known_version, migrate, steps_in

FIRST = Step(number=1, name="initial", sql="CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT);")
SECOND = Step(
    number=2, name="b", sql="CREATE TABLE b (a_id INTEGER REFERENCES a (id)); INSERT INTO b VALUES (1);"
)
THIRD = Step(number=3, name="c", sql="CREATE TABLE c (id INTEGER);")


def ask(path: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        return connection.execute(statement).fetchall()


def tables(path: Path) -> set[object]:
    return {row[0] for row in ask(path, "SELECT name FROM sqlite_schema WHERE type = 'table'")}


@pytest.fixture
def first(path: Path) -> Path:
    migrate(path, [FIRST])
    ask(path, "INSERT INTO a VALUES (1, 'kept')")
    return path


def test_the_packaged_steps_are_numbered_without_a_gap_and_leave_transactions_to_us() -> None:
    steps = steps_in(SCHEMA_FOLDER)
    assert [step.number for step in steps] == list(range(1, known_version() + 1))
    for step in steps:
        bare = re.sub(r"--[^\n]*|'[^']*'", "", step.sql)
        assert not re.search(
            r"^\s*(BEGIN\s+(IMMEDIATE|DEFERRED|EXCLUSIVE|TRANSACTION)|COMMIT|PRAGMA)\b", bare, re.M
        )


def test_a_new_store_is_at_the_newest_schema_and_has_no_copy(path: Path) -> None:
    open_store(path, mode="daemon", actor="daemon").close()
    assert ask(path, "PRAGMA user_version") == [(known_version(),)]
    assert backups(path.parent / "backups") == []
    assert sorted(p.name for p in path.parent.iterdir()) == ["herdr.db", "herdr.db.lock"]


def test_each_step_is_made_once_after_a_verified_copy(first: Path) -> None:
    migrate(first, [FIRST, SECOND, THIRD])
    assert tables(first) >= {"a", "b", "c"}
    newest, older = backups(first.parent / "backups")
    assert tables(older) == {"a"}
    assert ask(older, "SELECT x FROM a") == [("kept",)]
    assert tables(newest) == {"a", "b"}
    assert {copy.stat().st_mode & 0o777 for copy in (newest, older)} == {0o600}
    migrate(first, [FIRST, SECOND, THIRD])
    assert len(backups(first.parent / "backups")) == 2
    assert ask(first, "SELECT count(*) FROM b") == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE half (a); INSERT INTO half VALUES (1); CREATE TABLE a (again);",
        "CREATE TABLE half (a); DELETE FROM a; SELEC 1;",
        "CREATE TABLE half (a_id REFERENCES a (id)); INSERT INTO half VALUES (99);",
    ],
)
def test_a_step_that_fails_leaves_the_schema_before_it(first: Path, sql: str) -> None:
    bad = Step(number=2, name="bad", sql=sql)
    with pytest.raises(StoreError, match=r"schema 2 \(bad\).*stays as it was"):
        migrate(first, [FIRST, bad])
    assert tables(first) == {"a"}
    assert ask(first, "PRAGMA user_version") == [(1,)]
    assert ask(first, "SELECT x FROM a") == [("kept",)]
    migrate(first, [FIRST, SECOND])
    assert tables(first) == {"a", "b"}


def test_a_first_schema_that_fails_leaves_no_file(path: Path) -> None:
    with pytest.raises(StoreError):
        migrate(path, [FIRST, Step(number=2, name="bad", sql="SELEC 1;")])
    assert not path.exists()
    migrate(path, [FIRST])
    assert tables(path) == {"a"}


def test_a_table_can_be_rebuilt_under_a_foreign_key(first: Path) -> None:
    rebuilt = "CREATE TABLE n (id INTEGER PRIMARY KEY, y); INSERT INTO n SELECT * FROM a; DROP TABLE a;"
    migrate(first, [FIRST, SECOND, Step(number=3, name="r", sql=f"{rebuilt} ALTER TABLE n RENAME TO a;")])
    assert ask(first, "SELECT y FROM a JOIN b ON a.id = a_id") == [("kept",)]


def test_a_newer_schema_is_refused_before_anything_is_written(first: Path) -> None:
    migrate(first, [FIRST, SECOND])
    before = first.read_bytes()
    with pytest.raises(StoreError, match="newer herdr"):
        migrate(first, [FIRST])
    assert first.read_bytes() == before


def test_only_the_newest_copies_are_kept_and_changes_in_the_wal_are_in_them(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    made = []
    for number in range(KEPT + 2):
        store.execute("UPDATE ideas SET title = ?", (f"title {number}",))
        made.append(backup(store, folder, "herdr"))
    assert backups(folder) == made[: -KEPT - 1 : -1]
    assert ask(made[-1], "SELECT title FROM ideas") == [(f"title {KEPT + 1}",)]


def test_a_damaged_copy_is_refused_and_drops_no_older_one(store: Store, path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    for number in range(30):
        store.execute(
            "INSERT INTO ideas (project_id, title, source, actor, plan) VALUES (1, ?, 'x', 'x', ?)",
            (str(number), "p" * 3000),
        )
    kept = [backup(store, folder, "herdr") for _ in range(KEPT)]
    store.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size - 40_000)
        file.write(b"\xff" * 30_000)
    with closing(sqlite3.connect(path)) as damaged, pytest.raises((StoreError, sqlite3.DatabaseError)):
        backup(damaged, folder, "herdr")
    assert backups(folder) == kept[::-1]
    assert sorted(folder.iterdir()) == sorted(kept)


OPENER = """
import sys
from pathlib import Path
from herdr.store.connection import open_store, transaction
sys.stdin.readline()
store = open_store(Path(sys.argv[1]), mode="person", actor="human")
with transaction(store):
    store.execute("INSERT INTO projects (name, path, config, actor) VALUES (?1, ?1, '{}', 'x')", (sys.argv[2],))
"""
MIGRATOR = """
import sys
from pathlib import Path
from herdr.store.migrate import Step, migrate
sys.stdin.readline()
migrate(Path(sys.argv[1]), [Step(number=1, name="a", sql="CREATE TABLE a (x)"),
    *(Step(number=n, name="n", sql=f"INSERT INTO a VALUES ({n})") for n in (2, 3))])
"""


@pytest.mark.parametrize("program", [OPENER, MIGRATOR])
def test_eight_processes_at_once_make_one_store(path: Path, program: str) -> None:
    if program == MIGRATOR:
        migrate(path, [Step(number=1, name="a", sql="CREATE TABLE a (x)")])
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", program, path, f"p{number}"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(8)
    ]
    for process in crowd:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    errors = [process.communicate(timeout=50)[1].decode() for process in crowd]
    assert errors == [""] * 8
    made = "SELECT count(*) FROM " + ("a" if program == MIGRATOR else "projects")
    assert ask(path, made) == [(2 if program == MIGRATOR else 8,)]
    assert len(backups(path.parent / "backups")) == (2 if program == MIGRATOR else 0)
