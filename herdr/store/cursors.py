"""How far each plugin has read the event log, and why it is stuck where it is."""

from __future__ import annotations

import sqlite3

import msgspec


class Cursor(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin's place in the event log; `retry_at` is in seconds since the epoch."""

    plugin: str
    event_id: int
    failures: int = 0
    retry_at: float | None = None
    error: str | None = None


def cursor(conn: sqlite3.Connection, plugin: str) -> Cursor:
    """Return the plugin's cursor; a plugin that is new starts at the newest event, not with all of history."""
    row = conn.execute("SELECT * FROM plugin_cursors WHERE plugin = ?", (plugin,)).fetchone()
    if row is not None:
        return Cursor(**dict(row))
    newest = int(conn.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0])
    conn.execute("INSERT INTO plugin_cursors (plugin, event_id) VALUES (?, ?)", (plugin, newest))
    return Cursor(plugin=plugin, event_id=newest)


def write_cursor(conn: sqlite3.Connection, cursor: Cursor) -> None:
    """Write the cursor of a plugin that has one."""
    conn.execute(
        "UPDATE plugin_cursors SET event_id = ?, failures = ?, retry_at = ?, error = ? WHERE plugin = ?",
        (cursor.event_id, cursor.failures, cursor.retry_at, cursor.error, cursor.plugin),
    )


def stuck_plugins(conn: sqlite3.Connection) -> list[Cursor]:
    """Return the cursors of plugins that fail to take a fact, by name: for `herdr plugins` and `herdr doctor`."""
    rows = conn.execute("SELECT * FROM plugin_cursors WHERE failures > 0 ORDER BY plugin")
    return [Cursor(**dict(row)) for row in rows]
