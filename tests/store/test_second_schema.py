"""The second schema rebuilds three tables; what an old database held, and what hangs on it, is still there."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from herdr.store.migrate import SCHEMA_FOLDER, migrate, steps_in


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A database of the first schema, with rows in and about the tables that are rebuilt."""
    path = tmp_path / "old" / "herdr.db"
    migrate(path, steps_in(SCHEMA_FOLDER)[:1])
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        plain.executescript("""
            INSERT INTO projects (name, path, config, actor) VALUES ('p', '/p', '{}', 'human');
            INSERT INTO ideas (project_id, title, source, actor) VALUES (1, 'first', 'human', 'human');
            INSERT INTO candidates (project_id, tree_sha, commit_sha, subject, origin, rule, actor)
                VALUES (1, 't', 'c', 's', 'baseline', 'baseline', 'daemon');
            INSERT INTO candidates (project_id, parent_id, bar_id, tree_sha, commit_sha, subject,
                origin, rule, actor)
                VALUES (1, 1, 1, 't2', 'c2', 's', 'run', 'what nobody knows', 'daemon');
            UPDATE projects SET head_id = 1;
            INSERT INTO runs (project_id, idea_id, number, base_id, harness, actor)
                VALUES (1, 1, 1, 1, 'c', 'daemon');
            INSERT INTO run_commits VALUES (1, 0, 'c2', 2);
            INSERT INTO agents (project_id, run_id, harness, session_id, token_hash, state,
                cause, tokens_in, actor)
                VALUES (1, 1, 'c', 's', 'h', 'ended', 'quota', 12, 'daemon'),
                       (1, 1, 'c', 's', 'h', 'busy', 'what nobody knows', NULL, 'daemon');
            INSERT INTO messages (agent_id, kind, body, actor) VALUES (2, 'prompt', 'go on', 'human');
        """)
    return path


def everything(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as plain:
        names = [row[0] for row in plain.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: sorted(plain.execute(f"SELECT * FROM {name}"), key=repr) for name in names}


def shape(path: Path) -> dict[str, str]:
    """What the schema has beside the tables that change, such as every index and every trigger."""
    with closing(sqlite3.connect(path)) as plain:
        rows = plain.execute("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema").fetchall()
    return {name: sql for name, sql in rows if name not in ("table agents", "table candidates", "table runs")}


def test_an_old_database_keeps_its_rows_and_all_that_hangs_on_them(old: Path) -> None:
    before, shape_before = everything(old), shape(old)
    migrate(old, steps_in(SCHEMA_FOLDER)[:2])
    after = everything(old)
    assert shape(old) == shape_before
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"agents", "candidates"}, "no event tells of the rebuilding"
    unknown = "what nobody knows"
    kept = [tuple("unknown" if value == unknown else value for value in row) for row in before["agents"]]
    assert after["agents"] == kept
    kept = [tuple(None if value == unknown else value for value in row) for row in before["candidates"]]
    assert after["candidates"] == kept


def test_a_rebuilt_table_refuses_other_words_and_still_tells_its_events(old: Path) -> None:
    migrate(old, steps_in(SCHEMA_FOLDER)[:2])
    with closing(sqlite3.connect(old, isolation_level=None)) as plain:
        plain.execute("PRAGMA foreign_keys = ON")
        for statement in ("UPDATE agents SET cause = 'qota'", "UPDATE candidates SET rule = 'gian'"):
            with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
                plain.execute(statement)
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            plain.execute("INSERT INTO messages (agent_id, kind, body, actor) VALUES (99, 'prompt', 'x', 'x')")
        plain.execute("UPDATE agents SET state = 'ended' WHERE id = 2")
        plain.execute("UPDATE candidates SET verdict = 'keep' WHERE id = 2")
        told = plain.execute("SELECT kind FROM events ORDER BY id DESC LIMIT 2").fetchall()
        assert told == [("candidate.judged",), ("agent.ended",)]
        newest = plain.execute(
            "INSERT INTO candidates (project_id, tree_sha, commit_sha, subject, origin, actor)"
            " VALUES (1, 't3', 'c3', 's', 'run', 'x')"
        ).lastrowid
        assert newest == 3


def test_a_new_database_and_an_old_one_become_the_same(old: Path, path: Path) -> None:
    migrate(old)
    migrate(path)
    with closing(sqlite3.connect(old)) as one, closing(sqlite3.connect(path)) as other:
        query = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        assert one.execute(query).fetchall() == other.execute(query).fetchall()
