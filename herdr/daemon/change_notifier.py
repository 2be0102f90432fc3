"""Wakes whoever waits when something changed that may concern them."""

from __future__ import annotations

import asyncio

import anyio

#: Seconds in which all notices are one: a hundred panes that print at once wake everybody once.
TOGETHER = 0.01


class ChangeNotifier:
    """Wakes all who wait. Who waits looks at the state first, then waits, without an await in between."""

    def __init__(self) -> None:
        self._event = anyio.Event()
        self._pending = False

    def notify(self) -> None:
        """Wake everybody who waits, in a moment; from the event loop only."""
        if not self._pending:
            self._pending = True
            asyncio.get_running_loop().call_later(TOGETHER, self._wake)

    def _wake(self) -> None:
        self._pending = False
        self._event.set()
        self._event = anyio.Event()

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is notified, or `timeout` seconds; says whether it was."""
        event = self._event
        with anyio.move_on_after(timeout):
            await event.wait()
            return True
        return False
