"""Notices what people's commands wrote and what they edited, and notifies."""

from __future__ import annotations

from functools import partial

import anyio

from herdr.daemon.app_context import AppContext
from herdr.daemon.fleets import file_version, reload, take_in

#: Seconds between looks at the database's version; one costs some microseconds.
LOOK = 0.1
#: Looks between two stats of every piloop.toml.
CONFIG_EVERY = 10
#: Looks between two tries to open the projects that are not open.
FLEETS_EVERY = 100


class ChangeWatcher:
    """Watches `PRAGMA data_version`, the daemon's own changes, and the configuration files."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._version = (-1, -1)

    async def run(self) -> None:
        """Look, and notify, until cancelled."""
        looks = 0
        while True:
            await self._app.guard("noticing changes", self._look)
            if looks % CONFIG_EVERY == 0:
                await self._app.guard("reading piloop.toml", self._look_at_files)
            if looks % FLEETS_EVERY == 0:
                # One that could not be opened, because tmux was missing say, is tried again.
                await take_in(self._app)
            looks += 1
            await anyio.sleep(LOOK)

    async def _look(self) -> None:
        store = self._app.store
        version = (store.execute("PRAGMA data_version").fetchone()[0], store.total_changes)
        if version == self._version:
            return
        others = version[0] != self._version[0]
        self._version = version
        if others:
            await take_in(self._app)
        self._app.changes.notify()

    async def _look_at_files(self) -> None:
        for fleet in list(self._app.fleets.values()):
            if file_version(fleet.root) != self._app.files_read.get(fleet.project_id):
                await self._app.guard(f"taking up {fleet.name}", partial(reload, self._app, fleet))
