"""The database of the local forge: how it is opened, and its rows as the structs of a forge."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from herdr_polyresearch.forge.base import Comment, Issue, PullRequest, RejectedError, Repo
from herdr_polyresearch.protocol.threads import THESIS_LABEL

#: Seconds that a process waits for others to finish writing.
BUSY = 30.0
#: Raised with every change of schema.sql.
VERSION = 1
ISSUE = """
SELECT t.*, (SELECT group_concat(name, char(10)) FROM label WHERE number = t.number) AS labels,
       (SELECT group_concat(login, char(10)) FROM assignee WHERE number = t.number) AS assignees
FROM thread t WHERE t.kind = 'issue'
"""
PULL = """
SELECT t.*, p.*, (SELECT group_concat(login, char(10)) FROM assignee WHERE number = t.number) AS assignees
FROM thread t JOIN pull p USING (number) WHERE true
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open the database for one process of many.

    Raises:
        RejectedError: it was made by another version.
    """
    database = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
    database.row_factory = sqlite3.Row
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA foreign_keys = ON")
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, VERSION):
        database.close()
        raise RejectedError(
            f"{path} was made by another version of herdr (schema {version}, this one has {VERSION})",
            fix="use the version that made it",
        )
    return database


def text_of(moment: datetime) -> str:
    """A time as it is stored: UTC, whole seconds."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_repo(database: sqlite3.Connection) -> Repo:
    """The repository itself."""
    row = database.execute("SELECT * FROM repo").fetchone()
    named = frozenset(name for (name,) in database.execute("SELECT login FROM collaborator"))
    return Repo(full_name=row["slug"], default_branch=row["default_branch"], collaborators=named or None)


def read_issue(database: sqlite3.Connection, number: int) -> Issue:
    """An issue that is there.

    Args:
        database: the forge's.
        number: which one.
    """
    return issue_of(database.execute(f"{ISSUE} AND t.number = ?", (number,)).fetchone())


def read_pull(database: sqlite3.Connection, number: int) -> PullRequest:
    """A pull request that is there.

    Args:
        database: the forge's.
        number: which one.
    """
    return pull_of(database.execute(f"{PULL} AND t.number = ?", (number,)).fetchone())


def read_issues(database: sqlite3.Connection) -> tuple[Issue, ...]:
    """Every issue, oldest first."""
    return tuple(map(issue_of, database.execute(f"{ISSUE} ORDER BY t.number")))


def theses(database: sqlite3.Connection) -> tuple[Issue, ...]:
    """Every issue with the label of a thesis, oldest first."""
    labelled = "AND t.number IN (SELECT number FROM label WHERE name = ?) ORDER BY t.number"
    return tuple(map(issue_of, database.execute(f"{ISSUE} {labelled}", (THESIS_LABEL,))))


def pulls(database: sqlite3.Connection) -> tuple[PullRequest, ...]:
    """Every pull request, newest first."""
    return tuple(map(pull_of, database.execute(f"{PULL} ORDER BY t.number DESC")))


def comments(database: sqlite3.Connection, number: int | None, *, deleted: bool = False) -> tuple[Comment, ...]:
    """The comments of one thread, or of all, oldest first; those that are there, or those that were deleted.

    Args:
        database: the forge's.
        number: the thread; all when None.
        deleted: whether those that were deleted are wanted, instead of those that are there.
    """
    query = (
        "SELECT * FROM comment WHERE (deleted_at IS NOT NULL) = ?1 AND (?2 IS NULL OR number = ?2) ORDER BY id"
    )
    return tuple(map(comment_of, database.execute(query, (deleted, number))))


def by_thread(found: Iterable[Comment]) -> dict[int, tuple[Comment, ...]]:
    """Comments, by the thread they are on."""
    threads: dict[int, list[Comment]] = {}
    for comment in found:
        threads.setdefault(comment.thread, []).append(comment)
    return {number: tuple(rows) for number, rows in threads.items()}


def comment_of(row: sqlite3.Row) -> Comment:
    """A row as a comment."""
    return msgspec.convert({**row, "thread": row["number"]}, Comment)


def issue_of(row: sqlite3.Row) -> Issue:
    """A row as an issue."""
    return msgspec.convert({**row, "labels": lines(row["labels"]), "assignees": lines(row["assignees"])}, Issue)


def pull_of(row: sqlite3.Row) -> PullRequest:
    """A row as a pull request."""
    state = "merged" if row["merge_sha"] else row["state"]
    return msgspec.convert({**row, "state": state, "assignees": lines(row["assignees"])}, PullRequest)


def lines(text: str | None) -> list[str]:
    """A list as SQLite joined it."""
    return text.split("\n") if text else []
