"""What `piloop sql` lets an agent and a person do."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest

import herdr.store.sql
from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.store.authorizer import SCHEMA_PRAGMAS
from herdr.store.connection import Store, open_store
from herdr.store.sql import run_sql

READS = [
    "SELECT 1",
    "SELECT id, title FROM ideas",
    "VALUES (1), (2)",
    "SELECT * FROM events JOIN projects USING (id)",
    "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 5) SELECT sum(x) FROM n",
    "SELECT sql FROM sqlite_schema",
    "SELECT json_extract(payload, '$.title'), count(*) FROM events GROUP BY 1",
    "SELECT value FROM json_each('[1, 2]')",
    "SELECT name FROM pragma_table_info('ideas')",
    "SELECT m.name, i.name FROM sqlite_schema m, pragma_table_info(m.name) i",
    "SELECT row_number() OVER (ORDER BY id) FROM ideas",
    "SELECT printf('%5.1f', 1.25) || upper('x')",
    "EXPLAIN QUERY PLAN SELECT * FROM ideas",
    "SELECT 1; -- and a comment",
    *(f"PRAGMA {name}(ideas)" for name in sorted(SCHEMA_PRAGMAS)),
]
PEOPLES_EDITS = [
    "UPDATE ideas SET priority = 0",
    "UPDATE ideas SET hypothesis = 'h', plan = 'p', family = 'f' WHERE id = 1",
    "UPDATE ideas SET priority = 3 WHERE status = 'ready'",
    "UPDATE ideas SET harness = 'claude', model = 'm', attempts = 3",
    "UPDATE ideas SET priority = 1 RETURNING id, priority",
    "UPDATE comments SET acked_at = '2026-01-01T00:00:00Z', acked_by = 'human'",
    (
        "INSERT INTO comments (project_id, target_kind, target_id, kind, body, actor)"
        " VALUES (1, 'run', 1, 'note', 'look here', 'human')"
    ),
]
NOBODYS = [
    # the schema
    "CREATE TABLE t (a)",
    "CREATE TEMP TABLE t (a)",
    "CREATE VIEW v AS SELECT 1",
    "CREATE INDEX i ON ideas (title)",
    "CREATE TRIGGER t AFTER INSERT ON ideas BEGIN SELECT 1; END",
    "CREATE TEMP TRIGGER t AFTER UPDATE ON ideas BEGIN DELETE FROM ideas; END",
    "CREATE VIRTUAL TABLE v USING fts5 (a)",
    "ALTER TABLE ideas ADD COLUMN x",
    "DROP TABLE ideas",
    "DROP TRIGGER events_no_delete",
    "DROP INDEX ideas_by_status",
    "REINDEX",
    "ANALYZE",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    # transactions
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "RELEASE s",
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    "DETACH main",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA writable_schema = ON",
    "PRAGMA recursive_triggers = OFF",
    "PRAGMA user_version = 9",
    "PRAGMA wal_checkpoint",
    "PRAGMA query_only",
    # functions that reach out
    "SELECT load_extension('x')",
    "SELECT fts3_tokenizer('simple')",
    "SELECT zeroblob(1000000000)",
    "SELECT randomblob(1000000000)",
    # what the daemon owns
    "UPDATE runs SET state = 'succeeded'",
    "UPDATE agents SET state = 'ended'",
    "UPDATE candidates SET verdict = 'keep'",
    "UPDATE measurements SET metrics = '{}'",
    "UPDATE messages SET state = 'queued'",
    "UPDATE evaluators SET key = 'x'",
    "UPDATE plugin_cursors SET event_id = 0",
    "UPDATE projects SET head_id = 1",
    "UPDATE ideas SET id = 7",
    "UPDATE ideas SET status = 'parked'",
    "UPDATE ideas SET title = 'x'",
    "UPDATE ideas SET actor = 'daemon', priority = 1",
    "UPDATE OR REPLACE ideas SET title = 'x', priority = 1",
    "UPDATE comments SET body = 'x'",
    "UPDATE sqlite_sequence SET seq = 0",
    "INSERT INTO runs (project_id, idea_id, number, base_id, harness, actor) VALUES (1, 1, 2, 1, 'x', 'human')",
    "INSERT INTO ideas (project_id, title, source, actor) VALUES (1, 'x', 'x', 'human')",
    "INSERT INTO emit (kind, actor) VALUES ('x', 'human')",
    "INSERT INTO events (kind, actor) VALUES ('x', 'human')",
    "UPDATE events SET actor = 'x'",
    "DELETE FROM events",
    "DELETE FROM comments",
    "DELETE FROM ideas",
    "DELETE FROM messages",
    "WITH x AS (SELECT 1) DELETE FROM runs",
]
AGAINST_A_RULE = [
    "UPDATE ideas SET priority = 9",
    "UPDATE ideas SET priority = 'high'",
    "UPDATE comments SET acked_at = 'now', acked_by = 'daemon'",
    (
        "INSERT INTO comments (project_id, target_kind, target_id, kind, body, actor)"
        " VALUES (1, 'run', 1, 'decision', 'do it', 'daemon')"
    ),
    (
        "INSERT OR REPLACE INTO comments (id, project_id, target_kind, target_id, kind, body, actor)"
        " VALUES (1, 1, 'run', 1, 'note', 'x', 'human')"
    ),
    (
        "INSERT INTO comments (id, project_id, target_kind, target_id, kind, body, actor)"
        " VALUES (1, 1, 'run', 1, 'note', 'x', 'human') ON CONFLICT DO UPDATE SET acked_at = 'x'"
    ),
]
NOT_ONE_STATEMENT = [
    "",
    " ;\n",
    "SELECT 1; SELECT 2",
    "SELECT ?",
    "SELEC 1",
    "SELECT * FROM nothing",
    "SELECT 'x",
]


def everything(store: Store) -> list[str]:
    return list(store.iterdump())


@pytest.mark.parametrize("statement", READS)
@pytest.mark.parametrize("policy", ["agent", "person"])
def test_reading_is_free(store: Store, statement: str, policy: Literal["agent", "person"]) -> None:
    run_sql(store, statement, policy)


@pytest.mark.parametrize("statement", NOBODYS + PEOPLES_EDITS)
def test_an_agent_changes_nothing(store: Store, statement: str) -> None:
    before = everything(store)
    with pytest.raises(RefusedError, match="may not"):
        run_sql(store, statement, "agent")
    assert everything(store) == before


@pytest.mark.parametrize("statement", NOBODYS)
def test_a_person_does_not_reach_what_the_daemon_owns(store: Store, statement: str) -> None:
    before = everything(store)
    with pytest.raises(RefusedError, match="may not") as refused:
        run_sql(store, statement, "person")
    assert everything(store) == before
    assert refused.value.fix


@pytest.mark.parametrize("statement", ["UPDATE temp.session SET actor = 'daemon'", "DELETE FROM temp.session"])
def test_a_person_cannot_become_somebody_else(store: Store, statement: str) -> None:
    with pytest.raises(RefusedError, match="may not"):
        run_sql(store, statement, "person")


@pytest.mark.parametrize("statement", AGAINST_A_RULE)
def test_a_persons_edit_keeps_the_rules_of_the_rows(store: Store, statement: str) -> None:
    before = everything(store)
    with pytest.raises(RefusedError):
        run_sql(store, statement, "person")
    assert everything(store) == before


@pytest.mark.parametrize("statement", PEOPLES_EDITS)
def test_a_persons_edit_is_made_and_the_log_says_by_whom(store: Store, path: Path, statement: str) -> None:
    with closing(open_store(path, mode="person", actor="human")) as own:
        assert run_sql(own, statement, "person").changed == 1
    assert store.execute("SELECT actor FROM events ORDER BY id DESC").fetchone()[0] == "human"


@pytest.mark.parametrize("statement", NOT_ONE_STATEMENT)
def test_it_takes_exactly_one_statement(store: Store, statement: str) -> None:
    with pytest.raises(UsageError) as refused:
        run_sql(store, statement, "person")
    assert refused.value.fix


def test_rows_are_bounded_and_an_edit_is_whole_all_the_same(store: Store) -> None:
    for number in range(20):
        store.execute(
            "INSERT INTO ideas (project_id, title, source, actor) VALUES (1, ?, 'x', 'x')", (f"idea {number}",)
        )
    result = run_sql(store, "UPDATE ideas SET priority = 4 RETURNING id", "person", limit=5)
    assert (len(result.rows), result.truncated, result.columns) == (5, True, ("id",))
    assert store.execute("SELECT count(*) FROM ideas WHERE priority = 4").fetchone()[0] == 21
    assert not run_sql(store, "SELECT id FROM ideas", "agent", limit=21).truncated


def test_an_endless_statement_is_stopped(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(herdr.store.sql, "SECONDS", 0.05)
    endless = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    with pytest.raises(UsageError, match="longer than"):
        run_sql(store, endless, "agent")
    assert store.execute("SELECT count(*) FROM ideas").fetchone()[0] == 1


def test_hashes_of_tokens_are_blank(store: Store) -> None:
    assert run_sql(store, "SELECT token_hash FROM agents", "agent").rows == [(None,)]
    assert run_sql(store, "SELECT * FROM agents WHERE token_hash = 'secret'", "person").rows == []


def test_the_connection_keeps_its_own_policy_afterwards(store: Store) -> None:
    for policy in ("agent", "person"):
        with pytest.raises(HerdrError):
            run_sql(store, "DELETE FROM runs", policy)
    store.execute("UPDATE runs SET state = 'cancelled'")


def test_a_read_only_connection_answers_an_agent(store: Store, path: Path) -> None:
    with closing(open_store(path, mode="read", actor="worker#1")) as own:
        assert run_sql(own, "SELECT count(*) FROM json_each('[1, 2]')", "agent").rows == [(2,)]
