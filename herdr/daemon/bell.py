"""A bell that many can wait for: rung when something changed that somebody may be waiting for."""

from __future__ import annotations

import anyio


class Bell:
    """Wakes all who wait. Who waits looks at the state first, then waits, without an await in between."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def ring(self) -> None:
        """Wake everybody who waits now."""
        self._event.set()
        self._event = anyio.Event()

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until the bell rings, or `timeout` seconds; says whether it rang."""
        event = self._event
        with anyio.move_on_after(timeout):
            await event.wait()
            return True
        return False
