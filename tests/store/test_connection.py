"""Opening the store, and the one clear sentence for each way in which that can go wrong."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

import herdr.store.migrate
from herdr.errors import HerdrError, RefusedError
from herdr.store.connection import Mode, Store, open_store, transaction
from herdr.store.failures import StoreError
from herdr.store.migrate import APPLICATION_ID


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file with something in it, but for SQLite's shared memory: each reader builds that anew."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.stat().st_size and not p.name.endswith("-shm")}


def test_a_new_store_is_private_and_keeps_the_rules_of_the_house(store: Store, path: Path) -> None:
    with closing(sqlite3.connect(path)) as plain:
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert plain.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    store.set_authorizer(lambda *_: sqlite3.SQLITE_OK)
    pragmas = ("foreign_keys", "recursive_triggers", "synchronous", "busy_timeout")
    assert [store.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas] == [1, 1, 1, 5000]
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        store.execute("UPDATE ideas SET base_id = 99")


@pytest.mark.parametrize("mode", ["daemon", "person", "read"])
def test_every_file_is_for_its_owner_only(tmp_path: Path, mode: Mode) -> None:
    path = tmp_path / "home" / "herdr.db"
    open_store(path, mode="daemon", actor="daemon").close()
    with closing(open_store(path, mode=mode, actor="human")) as store:
        store.execute("SELECT * FROM ideas").fetchall()
        assert {p.name: p.stat().st_mode & 0o077 for p in path.parent.iterdir() if p.stat().st_mode & 0o077} == {}
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_reader_reads_and_never_writes(store: Store, path: Path) -> None:
    with closing(open_store(path, mode="read", actor="human")) as reader:
        assert reader.execute("SELECT title FROM ideas").fetchone()["title"] == "first"
        with pytest.raises(StoreError, match="read-only"), transaction(reader):
            reader.execute("UPDATE ideas SET priority = 1")


def test_a_reader_does_not_make_a_store(path: Path) -> None:
    with pytest.raises(StoreError, match="there is no herdr database") as refused:
        open_store(path, mode="read", actor="human")
    assert "herdr init" in str(refused.value.fix)
    assert not path.exists()


def test_a_truncated_store_is_not_taken_for_a_new_one(store: Store, path: Path) -> None:
    store.close()
    os.truncate(path, 0)
    with pytest.raises(StoreError, match="truncated"):
        open_store(path, mode="daemon", actor="daemon")
    assert path.stat().st_size == 0


def test_a_store_that_is_gone_while_its_changes_are_there_is_not_made_anew(path: Path) -> None:
    path.parent.mkdir()
    wal = path.with_name("herdr.db-wal")
    wal.write_bytes(b"changes")
    with pytest.raises(StoreError, match=r"herdr\.db-wal"):
        open_store(path, mode="daemon", actor="daemon")
    assert wal.read_bytes() == b"changes"
    assert not path.exists()


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwrite_the_schema(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(os.urandom(3000))


def write_text(path: Path) -> None:
    path.write_text("my notes, not a database\n" * 200)


def write_noise(path: Path) -> None:
    path.write_bytes(os.urandom(8192))


@pytest.mark.parametrize("damage", [cut_in_half, overwrite_the_schema, write_text, write_noise])
@pytest.mark.parametrize("mode", ["daemon", "person", "read"])
def test_a_damaged_store_is_named_and_left_byte_for_byte(
    store: Store, path: Path, damage: object, mode: Mode
) -> None:
    store.close()
    assert callable(damage)
    damage(path)
    before = snapshot(path.parent)
    with (
        pytest.raises(StoreError, match="left as it is") as refused,
        closing(open_store(path, mode=mode, actor="human")) as opened,
        transaction(opened),
    ):
        pass
    assert str(path) in str(refused.value)
    assert "backups" in str(refused.value.fix)
    assert snapshot(path.parent) == before


def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.executescript("CREATE TABLE bookmarks (url); INSERT INTO bookmarks VALUES ('x')")
    before = snapshot(path.parent)
    with pytest.raises(StoreError, match="not one of herdr's"):
        open_store(path, mode="daemon", actor="daemon")
    assert snapshot(path.parent) == before


@pytest.mark.parametrize("mode", ["daemon", "person", "read"])
def test_a_newer_store_is_refused(store: Store, path: Path, mode: Mode) -> None:
    store.close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"newer herdr \(schema 99") as refused:
        open_store(path, mode=mode, actor="human")
    assert "upgrade" in str(refused.value.fix)


def test_a_lock_held_too_long_is_named(store: Store, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herdr.store.migrate, "BUSY_MS", 50)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(open_store(path, mode="person", actor="human")) as store2:
            with pytest.raises(StoreError, match="is locked") as refused, transaction(store2):
                pass
            assert "fuser" in str(refused.value.fix)
            assert store2.execute("SELECT count(*) FROM ideas").fetchone()[0] == 1
            other.execute("ROLLBACK")
            with transaction(store2):
                store2.execute("UPDATE ideas SET priority = 1")


def test_a_full_disk_is_named_and_loses_nothing(store: Store, path: Path) -> None:
    store.set_authorizer(lambda *_: sqlite3.SQLITE_OK)
    pages = store.execute("PRAGMA page_count").fetchone()[0]
    store.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="no space left") as refused, transaction(store):
        store.execute("UPDATE ideas SET plan = ?", ("x" * 1_000_000,))
    assert "df -h" in str(refused.value.fix)
    assert not store.in_transaction
    assert store.execute("SELECT plan FROM ideas").fetchone()[0] is None


def a_folder(path: Path) -> None:
    path.mkdir(parents=True)


def a_file_for_a_home(path: Path) -> None:
    path.parent.write_text("")


@pytest.mark.parametrize("obstacle", [a_folder, a_file_for_a_home])
def test_what_stands_in_the_way_is_named(path: Path, obstacle: object) -> None:
    assert callable(obstacle)
    obstacle(path)
    with pytest.raises(StoreError, match="directory") as refused:
        open_store(path, mode="daemon", actor="daemon")
    assert refused.value.fix


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
@pytest.mark.parametrize("mode", [0o500, 0o000])
def test_a_home_that_cannot_be_written_is_named(tmp_path: Path, mode: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    try:
        with pytest.raises(StoreError, match=r"permission denied"):
            open_store(home / "herdr.db", mode="daemon", actor="daemon")
    finally:
        home.chmod(0o700)


def test_a_rule_of_the_schema_is_an_error_for_people(store: Store) -> None:
    with pytest.raises(RefusedError, match="priority"), transaction(store):
        store.execute("UPDATE ideas SET priority = 9")
    assert issubclass(RefusedError, HerdrError)


WRITER = """
import sys
from pathlib import Path
from herdr.store.connection import open_store, transaction
store = open_store(Path(sys.argv[1]), mode="person", actor="human")
print("ready", flush=True)
while True:
    with transaction(store):
        for _ in range(20):
            store.execute("INSERT INTO comments (project_id, target_kind, target_id, kind, body, actor)"
                          " VALUES (1, 'idea', 1, 'note', ?, ?)", ("x" * 3000, sys.argv[2]))
"""


def test_killed_writers_leave_a_sound_store_and_whole_transactions(store: Store, path: Path) -> None:
    for round_ in range(3):
        writers = [
            subprocess.Popen([sys.executable, "-c", WRITER, path, f"w{round_}{k}"], stdout=subprocess.PIPE)
            for k in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == b"ready\n"
        deadline = time.monotonic() + 20
        while (
            store.execute("SELECT count(*) FROM comments WHERE actor GLOB ?", (f"w{round_}*",)).fetchone()[0] < 60
        ):
            assert time.monotonic() < deadline
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
    counts = store.execute("SELECT count(*) FROM comments WHERE actor GLOB 'w[0-9]*' GROUP BY actor").fetchall()
    assert [row[0] % 20 for row in counts] == [0] * len(counts)
    assert store.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    comments, events = store.execute(
        "SELECT (SELECT count(*) FROM comments), (SELECT count(*) FROM events WHERE kind = 'comment.note')"
    ).fetchone()
    assert comments == events
