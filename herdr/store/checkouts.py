"""How the daemon last saw the checkout of each project."""

from __future__ import annotations

import sqlite3

import msgspec


class SeenCheckout(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout as it was seen.

    Attributes:
        project_id: whose it is.
        looked_at: when the look began.
        state: what was seen, as JSON.
        in_force: which settings of git's were in force then, by their hash; None when nobody looked.
        settings: the settings that were seen, as JSON.
    """

    project_id: int
    looked_at: str
    state: str
    in_force: str | None = None
    settings: str | None = None


def seen_checkout(conn: sqlite3.Connection, project_id: int) -> SeenCheckout | None:
    """Return how a project's checkout was last seen; None before the first look.

    Args:
        conn: the database.
        project_id: the project.
    """
    row = conn.execute("SELECT * FROM checkouts WHERE project_id = ?", (project_id,)).fetchone()
    return SeenCheckout(**dict(row)) if row is not None else None


def write_seen(conn: sqlite3.Connection, seen: SeenCheckout) -> None:
    """Write how a checkout was seen, in place of how it was seen before."""
    conn.execute(
        "INSERT OR REPLACE INTO checkouts (project_id, looked_at, state, in_force, settings)"
        " VALUES (?, ?, ?, ?, ?)",
        msgspec.structs.astuple(seen),
    )
