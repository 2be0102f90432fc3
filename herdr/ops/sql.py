"""One SQL statement, under the rules for whoever asks."""

from __future__ import annotations

from herdr.ops.core import Context, Request, operation
from herdr.store.sql import SqlResult, run_sql


class Statement(Request, frozen=True, kw_only=True):
    """The statement to run."""

    statement: str


@operation("sql.run", Statement)
def run(context: Context, request: Statement) -> SqlResult:
    """Run one statement: agents read, people may edit a little."""
    return run_sql(context.conn, request.statement, "person" if context.agent is None else "agent")
