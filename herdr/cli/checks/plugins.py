"""The plugins: those that cannot be loaded, and those that fail in the daemon."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from herdr.cli.checks import Results, always, ok
from herdr.contract.facts import DoctorCheck, DoctorResult
from herdr.home import Home
from herdr.store.connection import open_store
from herdr.store.cursors import Cursor, stuck_plugins

if TYPE_CHECKING:
    from herdr.plugins import PluginHost


def checks(host: PluginHost, home: Home) -> list[DoctorCheck]:
    """The checks of plugins; last, because a check of theirs may be what fails.

    Args:
        host: the plugins.
        home: whose log has their errors.
    """
    return [always("plugins", partial(loaded, host)), always("plugins in the daemon", partial(facts, home))]


def loaded(host: PluginHost) -> Results:
    """Whether every plugin can be loaded."""
    rows = host.plugins_table()
    failed = [
        DoctorResult(status="error", message=f"{row.name} {row.why}", fix=_remedy(row.distribution, row.name))
        for row in rows
        if row.state == "failed"
    ]
    return failed or ok(", ".join(f"{row.name} ({row.state})" if row.state != "ok" else row.name for row in rows))


def facts(home: Home) -> Results:
    """Whether a plugin fails to take the facts that it is told."""
    failures = failing(home)
    return [
        DoctorResult(
            status="warning",
            message=f"{one.plugin} failed {one.failures} times in a row: {one.error}",
            fix=f"mend it; the facts wait for it. Or block it: HERDR_BLOCK_PLUGINS={one.plugin}",
        )
        for one in failures
    ] or ok("none fails")


def failing(home: Home) -> list[Cursor]:
    """The plugins whose latest facts failed."""
    if not home.root.is_dir() or not home.database.exists():
        return []
    store = open_store(home.database, mode="read", actor="human")
    try:
        return stuck_plugins(store)
    finally:
        store.close()


def _remedy(owner: str, name: str) -> str:
    return f"upgrade or remove {owner}, or block it: HERDR_BLOCK_PLUGINS={name}"
