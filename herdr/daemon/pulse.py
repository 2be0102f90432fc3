"""Notices what people's commands wrote and what they edited, and rings the bell."""

from __future__ import annotations

from functools import partial

import anyio

from herdr.daemon.fleets import reload, stamp_of, take_in
from herdr.daemon.world import World

#: Seconds between looks at the database's version; one costs some microseconds.
LOOK = 0.1
#: Looks between two stats of every piloop.toml.
CONFIG_EVERY = 10
#: Looks between two tries to open the projects that are not open.
FLEETS_EVERY = 100


class Pulse:
    """Watches `PRAGMA data_version`, the daemon's own changes, and the configuration files."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._version = (-1, -1)

    async def run(self) -> None:
        """Look, and ring, until cancelled."""
        looks = 0
        while True:
            await self._world.guard("noticing changes", self._look)
            if looks % CONFIG_EVERY == 0:
                await self._world.guard("reading piloop.toml", self._look_at_files)
            if looks % FLEETS_EVERY == 0:
                # One that could not be opened, because tmux was missing say, is tried again.
                await take_in(self._world)
            looks += 1
            await anyio.sleep(LOOK)

    async def _look(self) -> None:
        store = self._world.store
        version = (store.execute("PRAGMA data_version").fetchone()[0], store.total_changes)
        if version == self._version:
            return
        others = version[0] != self._version[0]
        self._version = version
        if others:
            await take_in(self._world)
        self._world.bell.ring()

    async def _look_at_files(self) -> None:
        for fleet in list(self._world.fleets.values()):
            if stamp_of(fleet.root) != self._world.files_read.get(fleet.project_id):
                await self._world.guard(f"taking up {fleet.name}", partial(reload, self._world, fleet))
