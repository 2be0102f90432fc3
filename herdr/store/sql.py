"""One statement of `piloop sql`, run under the policy of whoever typed it."""

from __future__ import annotations

import sqlite3
import sys
import time
from contextlib import closing
from typing import Any, Literal

import msgspec

from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.store.authorizer import PERSON_MAY_UPDATE, Recorder, own
from herdr.store.connection import Store
from herdr.store.failures import StoreError, store_errors

SECONDS = 5.0
#: How many steps of SQLite's machine pass between two looks at the clock.
STEPS = 20_000
#: Bytes in one value; without it one row could fill the memory (Python 3.11 on).
VALUE_BYTES = 4_000_000

# The first use of a table-valued function in a connection asks leave to declare its columns, as if it were DDL.
TABLE_FUNCTIONS = """
SELECT 1 FROM json_each('[]'), json_tree('[]'), pragma_foreign_key_list(''), pragma_index_info(''),
    pragma_index_list(''), pragma_index_xinfo(''),
    pragma_table_info(''), pragma_table_list, pragma_table_xinfo(''), ideas_fts, comments_fts LIMIT 0
"""

# The rules of a person's SQL that no authorizer can see. A BEFORE trigger, so that the event triggers of the same
# statement find the right actor; `INSERT OR REPLACE` would otherwise delete somebody's comment.
GUARDS = """
CREATE TEMP TABLE IF NOT EXISTS session (actor TEXT NOT NULL);
DELETE FROM session;
INSERT INTO session VALUES ({actor});
CREATE TEMP TRIGGER IF NOT EXISTS idea_actor
BEFORE UPDATE OF hypothesis, plan, priority, harness, model, family, attempts ON main.ideas
BEGIN
    UPDATE ideas SET actor = (SELECT actor FROM session), updated_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    WHERE id = NEW.id;
END;
CREATE TEMP TRIGGER IF NOT EXISTS comment_acker BEFORE UPDATE OF acked_at, acked_by ON main.comments
WHEN NEW.acked_at IS NOT NULL AND NEW.acked_by IS NOT (SELECT actor FROM session)
BEGIN SELECT RAISE(ABORT, 'set acked_by to who you are: human'); END;
CREATE TEMP TRIGGER IF NOT EXISTS comment_author BEFORE INSERT ON main.comments
WHEN NEW.actor IS NOT (SELECT actor FROM session)
BEGIN SELECT RAISE(ABORT, 'set actor to who you are: human'); END;
CREATE TEMP TRIGGER IF NOT EXISTS comment_replaced BEFORE INSERT ON main.comments
WHEN EXISTS (SELECT 1 FROM main.comments WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'a comment cannot be replaced; add another'); END;
"""


EDITS = [f"update {table} ({', '.join(sorted(columns))})" for table, columns in PERSON_MAY_UPDATE.items()]
ALLOWED = {
    "agent": "agents may only read",
    "person": f"people may read everything, insert comments, {', '.join(EDITS)};"
    " `piloop idea` moves an idea from status to status",
}


class SqlResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a statement gave: its rows up to the limit, and how many rows it changed."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    truncated: bool
    changed: int


def run_sql(store: Store, statement: str, policy: Literal["person", "agent"], limit: int = 500) -> SqlResult:
    """Run one SQL statement under a policy of `herdr.store.authorizer`, for at most `SECONDS`.

    Args:
        store: an open connection, outside a transaction and used for nothing else afterwards: a person's gets
            guards that would hinder herdr itself. A read-only one will do for an agent.
        statement: exactly one statement.
        policy: whose rules hold.
        limit: how many rows to return at most.

    Raises:
        UsageError: no statement, several, one that SQLite cannot read, or one that takes too long.
        RefusedError: the policy, or a rule of the schema, does not allow it.
    """
    if not statement.strip(" \t\r\n;"):
        raise UsageError("there is no SQL statement", fix='piloop sql "select id, title from ideas"')
    assert not store.in_transaction
    prepare(store, policy)
    recorder = Recorder(policy)
    deadline = time.monotonic() + SECONDS
    usual_bytes = limit_value(store, VALUE_BYTES)
    store.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    store.set_authorizer(recorder)
    store.set_trace_callback(lambda text: started(recorder, statement, text))
    try:
        with store_errors(store.path):
            return fetch(store, statement, limit)
    except (HerdrError, sqlite3.Warning) as error:
        raise explain(error, recorder, policy) from error
    finally:
        store.set_trace_callback(None)
        store.set_authorizer(own)
        store.set_progress_handler(None, 0)
        limit_value(store, usual_bytes)


def prepare(store: Store, policy: Literal["person", "agent"]) -> None:
    """Make what the statement may need and the policy would not let it make."""
    store.set_authorizer(anything)
    try:
        with store_errors(store.path):
            store.execute(TABLE_FUNCTIONS).close()
            if policy == "person":
                actor = "'" + store.actor.replace("'", "''") + "'"
                store.executescript(GUARDS.format(actor=actor))
    finally:
        store.set_authorizer(own)


def started(recorder: Recorder, statement: str, text: str) -> None:
    """Take note that the statement itself has been allowed and runs: SQLite tells of each that it starts.

    Args:
        recorder: the policy in force.
        statement: what the person or agent wrote.
        text: the statement that SQLite starts.
    """
    if text.strip() and statement.strip().startswith(text.strip()):
        recorder.running = True


def anything(*_question: str | int | None) -> int:
    """The policy for statements of our own that come as constants."""
    return sqlite3.SQLITE_OK


def limit_value(store: Store, size: int) -> int:
    """Bound a single value to `size` bytes and return the bound before; Python 3.10 has no such bound."""
    if sys.version_info >= (3, 11):
        return store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size)
    return size


def fetch(store: Store, statement: str, limit: int) -> SqlResult:
    """Run the statement and take at most `limit` of its rows.

    Args:
        store: an open connection.
        statement: exactly one statement.
        limit: the most rows; the answer says whether there were more.
    """
    with closing(store.execute(statement)) as cursor:
        rows = cursor.fetchmany(limit + 1)
        return SqlResult(
            columns=tuple(column[0] for column in cursor.description or ()),
            rows=[tuple(row) for row in rows[:limit]],
            truncated=len(rows) > limit,
            changed=max(cursor.rowcount, 0),
        )


def explain(error: Exception, recorder: Recorder, policy: Literal["person", "agent"]) -> Exception:
    """Say in words why a statement was not run.

    Args:
        error: as it was raised.
        recorder: the policy that was in force, which knows what it refused.
        policy: its name.
    """
    cause = error.__cause__ if isinstance(error, HerdrError) else error
    text = str(cause)
    if recorder.refused is not None and isinstance(cause, sqlite3.DatabaseError):
        return RefusedError(f"piloop sql may not {recorder.refused}", fix=ALLOWED[policy])
    if text == "interrupted":
        return UsageError(f"the statement took longer than {SECONDS:.0f} s and was stopped", fix="narrow it down")
    if isinstance(cause, (sqlite3.ProgrammingError, sqlite3.Warning)):
        return UsageError(f"not one SQL statement: {text}", fix="give one complete statement, without parameters")
    if isinstance(error, StoreError) and text and error.message.endswith(text):
        return UsageError(f"SQLite: {text}", fix='the tables: piloop sql "select sql from sqlite_schema"')
    return error
