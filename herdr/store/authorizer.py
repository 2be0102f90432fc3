"""Who may do what by SQL: SQLite asks one of these policies about every statement it prepares."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Literal

Policy = Literal["own", "person", "agent"]
Authorizer = Callable[[int, "str | None", "str | None", "str | None", "str | None"], int]

ALLOW, DENY, BLANK = sqlite3.SQLITE_OK, sqlite3.SQLITE_DENY, sqlite3.SQLITE_IGNORE

READING = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
WRITING = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
SCHEMA_PRAGMAS = frozenset(
    {
        "data_version", "foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list",
        "table_xinfo",
    }
)  # fmt: skip
OWN_PRAGMAS = SCHEMA_PRAGMAS | {
    "foreign_key_check", "integrity_check", "optimize", "quick_check", "query_only", "user_version",
    "wal_checkpoint",
}  # fmt: skip
#: They reach outside the database, or make a gigabyte out of one row.
DANGEROUS_FUNCTIONS = frozenset(
    {"edit", "fts3_tokenizer", "load_extension", "randomblob", "readfile", "writefile", "zeroblob"}
)
#: What a person may change by SQL; all else belongs to the daemon or has a command that keeps the rules.
PERSON_MAY_UPDATE = {
    "ideas": frozenset({"hypothesis", "plan", "priority", "harness", "model", "family", "attempts"}),
    "comments": frozenset({"acked_at", "acked_by"}),
}
PERSON_MAY_INSERT = frozenset({"comments"})
SECRETS = frozenset({("agents", "token_hash"), ("tokens", "hash")})
#: Where full-text search keeps its index. SQLite itself writes there while a statement runs, and nobody else may.
INDEXES = ("ideas_fts_", "comments_fts_")

WORDS = {
    sqlite3.SQLITE_INSERT: "insert into",
    sqlite3.SQLITE_UPDATE: "update",
    sqlite3.SQLITE_DELETE: "delete from",
    sqlite3.SQLITE_PRAGMA: "use PRAGMA",
    sqlite3.SQLITE_FUNCTION: "call",
    sqlite3.SQLITE_ATTACH: "attach (or vacuum)",
    sqlite3.SQLITE_DETACH: "detach",
    sqlite3.SQLITE_TRANSACTION: "control transactions:",
    sqlite3.SQLITE_SAVEPOINT: "control savepoints:",
}


def own(action: int, first: str | None, _second: str | None, _database: str | None, inside: str | None) -> int:
    """The policy of herdr's own connections: the schema is fixed, and events come from triggers only.

    `inside` is the trigger (or view) that is being run: one of the schema's, as no other can be made.

    Args:
        action: what SQLite is about to do, as one of its codes.
        first: what it does that to; mostly a table.
        inside: the trigger or view that asks for it; None for the statement itself.
    """
    if action in READING:
        return ALLOW
    if action in WRITING:
        if first == "events":
            return ALLOW if action == sqlite3.SQLITE_INSERT and inside is not None else DENY
        if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
            # A full-text table asks this when it is opened; SQLite itself lets no statement change that table.
            return ALLOW
        return DENY if (first or "").startswith("sqlite_") and first != "sqlite_sequence" else ALLOW
    if action == sqlite3.SQLITE_PRAGMA:
        return ALLOW if first in OWN_PRAGMAS else DENY
    return ALLOW if action in {sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT} else DENY


def agent(action: int, first: str | None, second: str | None, _database: str | None, _inside: str | None) -> int:
    """The policy for an agent's `piloop sql`: read everything but the hashes of tokens, change nothing.

    Args:
        action: see `own`.
        first: see `own`.
        second: mostly a column, or the name of a function.
    """
    if action == sqlite3.SQLITE_READ and (first, second) in SECRETS:
        return BLANK
    if action == sqlite3.SQLITE_FUNCTION:
        return DENY if (second or "").lower() in DANGEROUS_FUNCTIONS else ALLOW
    if action == sqlite3.SQLITE_PRAGMA:
        return ALLOW if (first or "").lower() in SCHEMA_PRAGMAS else DENY
    return ALLOW if action in READING else DENY


def person(action: int, first: str | None, second: str | None, database: str | None, inside: str | None) -> int:
    """The policy for a person's `piloop sql`: what an agent may, and the small edits of `PERSON_MAY_UPDATE`.

    Args:
        action: see `own`.
        first: see `own`.
        second: mostly a column, or the name of a function.
        database: see `own`.
        inside: see `own`.
    """
    if action not in WRITING:
        return agent(action, first, second, database, inside)
    if inside is not None:
        return own(action, first, second, database, inside)
    if action == sqlite3.SQLITE_UPDATE:
        return ALLOW if second in PERSON_MAY_UPDATE.get(first or "", ()) else DENY
    return ALLOW if action == sqlite3.SQLITE_INSERT and first in PERSON_MAY_INSERT else DENY


POLICIES: dict[Policy, Authorizer] = {"own": own, "person": person, "agent": agent}


class Recorder:
    """A policy that remembers what it refused first, because SQLite only says `not authorized`.

    `running` is set once the statement itself is allowed and runs: what SQLite then prepares on its own account
    keeps the full-text index.
    """

    def __init__(self, policy: Policy) -> None:
        self.decide = POLICIES[policy]
        self.refused: str | None = None
        self.running = False

    def __call__(
        self, action: int, first: str | None, second: str | None, database: str | None, inside: str | None
    ) -> int:
        """Answer SQLite, whose question this is."""
        if self.running and action in WRITING and (first or "").startswith(INDEXES):
            return ALLOW
        answer = self.decide(action, first, second, database, inside)
        if answer == DENY and self.refused is None:
            name = ".".join(part for part in (first, second) if part)
            self.refused = f"{WORDS.get(action, 'change the schema:')} {name}".strip(" :")
        return answer
