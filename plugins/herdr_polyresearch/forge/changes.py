"""Changes to the local forge's database, each inside a transaction of the caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from herdr_polyresearch.forge import rows
from herdr_polyresearch.forge.bare import BareRepo
from herdr_polyresearch.forge.base import Comment, MissingError, RejectedError

LOOK = "polyresearch forge show"


def new_thread(database: sqlite3.Connection, kind: str, title: str, body: str, author: str, now: str) -> int:
    """Open an issue or a pull request and give its number.

    Args:
        database: the forge's.
        kind: `issue` or `pull`.
        title: its title.
        body: its text.
        author: who opens it.
        now: the time, as the database has it.

    Raises:
        RejectedError: it has no title.
    """
    if not title.strip():
        raise RejectedError("it needs a title", fix="give one that is not empty")
    values = (kind, title.strip(), body, author, now, now)
    cursor = database.execute(
        "INSERT INTO thread (kind, title, body, author, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)", values
    )
    return int(cursor.lastrowid or 0)


def require_thread(database: sqlite3.Connection, number: int, kind: str | None = None) -> sqlite3.Row:
    """An issue or pull request.

    Args:
        database: the forge's.
        number: which one.
        kind: `issue` or `pull`; either when None.

    Raises:
        MissingError: there is none of this number and kind.
    """
    row = database.execute("SELECT * FROM thread WHERE number = ?", (number,)).fetchone()
    if row is None or kind not in (None, row["kind"]):
        what = {"issue": "issue", "pull": "pull request", None: "issue or pull request"}[kind]
        raise MissingError(f"there is no {what} #{number}", fix=f"see what there is: {LOOK}")
    found: sqlite3.Row = row
    return found


def require_comment(database: sqlite3.Connection, comment_id: int) -> Comment:
    """A comment that was not deleted.

    Args:
        database: the forge's.
        comment_id: which one.

    Raises:
        MissingError: there is none.
    """
    row = database.execute("SELECT * FROM comment WHERE id = ? AND deleted_at IS NULL", (comment_id,)).fetchone()
    if row is None:
        raise MissingError(f"there is no comment {comment_id}", fix=f"see what there is: {LOOK}")
    return rows.comment_of(row)


def add_labels(database: sqlite3.Connection, number: int, names: Sequence[str]) -> None:
    """Label an issue or pull request; labels that it has stay.

    Args:
        database: the forge's.
        number: which one.
        names: the labels.
    """
    database.executemany("INSERT OR IGNORE INTO label VALUES (?, ?)", [(number, name) for name in names])


def add_assignees(database: sqlite3.Connection, number: int, logins: Sequence[str]) -> None:
    """Assign an issue or pull request; those it has stay.

    Args:
        database: the forge's.
        number: which one.
        logins: whom to add.
    """
    database.executemany("INSERT OR IGNORE INTO assignee VALUES (?, ?)", [(number, login) for login in logins])


def touch(database: sqlite3.Connection, number: int, now: str) -> None:
    """Note that something changed on it.

    Args:
        database: the forge's.
        number: the issue or pull request.
        now: the time, as the database has it.
    """
    database.execute("UPDATE thread SET updated_at = ? WHERE number = ?", (now, number))


def set_state(database: sqlite3.Connection, number: int, state: str, reason: str | None, now: str) -> None:
    """Close or open it; one that is so already keeps its time and reason.

    Args:
        database: the forge's.
        number: the issue or pull request.
        state: `open` or `closed`.
        reason: how an issue ended, as GitHub has it.
        now: the time, as the database has it.
    """
    closed = now if state == "closed" else None
    database.execute(
        "UPDATE thread SET state = ?1, state_reason = ?2, closed_at = ?3, updated_at = ?4 "
        "WHERE number = ?5 AND state <> ?1",
        (state, reason, closed, now, number),
    )


def mark_merged(database: sqlite3.Connection, number: int, merge_sha: str, base_sha: str, now: str) -> None:
    """Note the commit that a merge made, and where its base branch was before.

    Args:
        database: the forge's.
        number: the pull request.
        merge_sha: the merge commit.
        base_sha: the commit that the base branch was at.
        now: the time, as the database has it.
    """
    values = (merge_sha, base_sha, now, number)
    database.execute("UPDATE pull SET merge_sha = ?, base_sha = ?, merged_at = ? WHERE number = ?", values)
    set_state(database, number, "closed", None, now)


def open_pulls(database: sqlite3.Connection) -> list[sqlite3.Row]:
    """The open pull requests, as far as branches matter to them."""
    query = (
        "SELECT number, head_ref, head_sha, base_ref FROM pull JOIN thread USING (number) WHERE state = 'open'"
    )
    return database.execute(query).fetchall()


def follow_branches(database: sqlite3.Connection, git: BareRepo, now: str, *, change: bool) -> bool:
    """Bring open pull requests to where their branches are: new heads, deleted branches, merges made by a push.

    Args:
        database: with a transaction for writing when `change` is set.
        git: the repository.
        now: the time.
        change: False to see only whether there is something to do.

    Returns:
        Whether anything differed.
    """
    pulls = open_pulls(database)
    if not pulls:
        return False
    heads = git.heads()
    differs = False
    merged = {
        base: git.contained(base, [heads[pull["head_ref"]] for pull in pulls if pull["head_ref"] in heads])
        for base in {pull["base_ref"] for pull in pulls} & heads.keys()
    }
    for pull in pulls:
        number, head = pull["number"], heads.get(pull["head_ref"])
        in_base = head is not None and head in merged.get(pull["base_ref"], ())
        if head == pull["head_sha"] and not in_base:
            continue
        differs = True
        if not change:
            break
        if head is None:
            set_state(database, number, "closed", None, now)
            continue
        git.keep(number, head)
        database.execute("UPDATE pull SET head_sha = ? WHERE number = ?", (head, number))
        touch(database, number, now)
        if in_base:
            mark_merged(database, number, *git.merged_by(head, pull["base_ref"]), now)
    return differs
