"""Full-text search is open to everybody, and its index to nobody."""

from __future__ import annotations

import pytest

from herdr.errors import HerdrError, RefusedError
from herdr.store.connection import Store, transaction
from herdr.store.sql import run_sql

FIND_IDEA = "SELECT rowid FROM ideas_fts WHERE ideas_fts MATCH '{}' ORDER BY bm25(ideas_fts)"
FIND_COMMENT = "SELECT rowid, snippet(comments_fts, 0, '', '', '…', 5) FROM comments_fts WHERE body MATCH '{}'"
COMMENT = (
    "INSERT INTO comments (project_id, target_kind, target_id, kind, body, actor)"
    " VALUES (1, 'idea', 1, 'note', 'a wombat digs', 'human')"
)


def test_agents_and_people_search(store: Store) -> None:
    for policy in ("agent", "person"):
        assert run_sql(store, FIND_IDEA.format("first"), policy).rows == [(1,)]
        assert run_sql(store, FIND_COMMENT.format("hello"), policy).rows == [(1, "hello")]


def test_the_index_follows_what_is_written(store: Store) -> None:
    with transaction(store):
        store.execute("UPDATE ideas SET title = 'second', plan = 'boosting trees'")
    assert run_sql(store, FIND_IDEA.format("first"), "agent").rows == []
    assert run_sql(store, FIND_IDEA.format("boosted"), "agent").rows == [(1,)]
    assert run_sql(store, COMMENT, "person").changed == 1
    assert run_sql(store, "UPDATE ideas SET plan = 'forests' WHERE id = 1", "person").changed == 1
    assert run_sql(store, FIND_COMMENT.format("wombats"), "agent").rows == [(2, "a wombat digs")]
    assert run_sql(store, FIND_IDEA.format("forest"), "agent").rows == [(1,)]
    check = "INSERT INTO {0} ({0}, rank) VALUES ('integrity-check', 1)"
    for table in ("ideas_fts", "comments_fts"):
        store.execute(check.format(table))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ideas_fts_data",
        "-- PRAGMA 'main'.data_version\nDELETE FROM comments_fts_idx",
        "UPDATE comments_fts_docsize SET sz = 1",
        "INSERT INTO ideas_fts (ideas_fts) VALUES ('delete-all')",
        "INSERT INTO ideas_fts (rowid, title) VALUES (9, 'x')",
        "DELETE FROM comments_fts",
        "DROP TABLE ideas_fts",
        "UPDATE tokens SET hash = 'x'",
        "UPDATE why SET reason = 'x'",
    ],
)
def test_nobody_writes_the_index_by_hand(store: Store, statement: str) -> None:
    for policy in ("agent", "person"):
        with pytest.raises((RefusedError, HerdrError)):
            run_sql(store, statement, policy)
    assert run_sql(store, FIND_IDEA.format("first"), "agent").rows == [(1,)]


def test_no_token_is_read(store: Store) -> None:
    with transaction(store):
        store.execute("INSERT INTO tokens (hash, actor) VALUES ('secret', 'human')")
    for policy in ("agent", "person"):
        assert run_sql(store, "SELECT hash FROM tokens", policy).rows == [(None,)]


def test_a_thread_is_about_what_its_first_comment_is_on(store: Store) -> None:
    reply = (
        "INSERT INTO comments (project_id, target_kind, target_id, kind, body, actor)"
        " VALUES (1, 'comment', {}, 'note', 'x', 'human')"
    )
    for target in (1, 2, 3):
        store.execute(reply.format(target))
    rows = store.execute("SELECT about_kind, about_id FROM comments ORDER BY id").fetchall()
    assert [tuple(row) for row in rows] == [("idea", 1)] * 4


def test_an_event_says_what_was_edited_and_why(store: Store) -> None:
    with transaction(store):
        store.execute("UPDATE why SET reason = 'because'")
        store.execute("UPDATE ideas SET priority = 1, plan = 'long', actor = 'human'")
        store.execute("UPDATE ideas SET priority = 1, actor = 'human'")
        store.execute("UPDATE ideas SET status = 'parked', actor = 'human'")
        store.execute("UPDATE why SET reason = NULL")
    rows = store.execute("SELECT kind, payload FROM events ORDER BY id DESC LIMIT 2").fetchall()
    assert [tuple(row) for row in rows][::-1] == [
        ("idea.edited", '{"priority":[2,1],"texts":1,"reason":"because"}'),
        ("idea.status", '{"old":"ready","new":"parked","reason":"because"}'),
    ]
