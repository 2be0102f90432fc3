"""One SQL statement, under the rules for whoever asks, and the guide to what it can be asked."""

from __future__ import annotations

from pathlib import Path

import msgspec

from herdr.ops.core import Context, Request, operation
from herdr.store.sql import SqlResult, run_sql

GUIDE = Path(__file__).with_name("procedures.md")


class Schema(msgspec.Struct, frozen=True, kw_only=True):
    """How to ask by SQL, and the statements that made the tables."""

    guide: str
    tables: list[str]


class ShowSchema(Request[Schema], frozen=True, kw_only=True):
    """How to ask by SQL."""

    operation = "sql.schema"


class RunStatement(Request[SqlResult], frozen=True, kw_only=True):
    """The statement to run."""

    operation = "sql.run"
    statement: str


@operation(RunStatement)
def run(context: Context, request: RunStatement) -> SqlResult:
    """Run one statement: agents read, people may edit a little."""
    return run_sql(context.conn, request.statement, "person" if context.agent is None else "agent")


@operation(ShowSchema)
def schema(context: Context, _request: ShowSchema) -> Schema:
    """Say what can be asked by SQL and how, for agents and people."""
    rows = context.conn.execute(
        "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'"
        " AND name NOT GLOB '*_fts_*'"
        " AND name NOT IN ('why', 'requests', 'tokens', 'plugin_cursors', 'checkouts') ORDER BY rowid"
    )
    return Schema(guide=GUIDE.read_text("utf-8"), tables=[f"{row[0]};" for row in rows])
