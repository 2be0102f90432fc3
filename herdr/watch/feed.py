"""Where the screen has everything from: operations asked in a thread of their own, and what has changed since."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal, TypeVar

from herdr.ops.client import Client
from herdr.ops.core import Request
from herdr.ops.event import ListEvents
from herdr.ops.sql import RunStatement

A = TypeVar("A")

Part = Literal["inbox", "agents", "ideas", "candidates"]

PARTS: frozenset[Part] = frozenset({"inbox", "agents", "ideas", "candidates"})
#: What has to be read again after an event, by the subject of its kind.
TOUCHES: dict[str, Part] = {
    "comment": "inbox",
    "idea": "ideas",
    "candidate": "candidates",
    "measurement": "candidates",
    "project": "candidates",
}
#: Events that are looked through; after more, everything is read again.
MANY = 500
#: Seconds after which the live part is read again although nothing was written: agents age, daemons end.
STALE = 5.0


class Feed:
    """Asks operations about one project.

    The database is used in one thread, which waits when another process holds it; the keys never do.

    Args:
        client: asks for operations; used, and closed, in that thread only.
        project: the project's name.
    """

    def __init__(self, client: Client, project: str) -> None:
        self.project = project
        self._client = client
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="watch")
        self._version: object = None
        self._cursor: int | None = None
        self._read_at = 0.0

    async def ask(self, request: Request[A]) -> A:
        """Ask for one operation; raises HerdrError when it is refused."""
        return await self.away(partial(self._client.ask, request))

    async def away(self, function: Callable[[], A]) -> A:
        """Run something that may wait, in the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function)

    async def changed(self) -> frozenset[Part]:
        """What has to be read again because others wrote; costs one PRAGMA when nobody did.

        The version is read first: what is written while the rest is read changes it again.
        """
        answer = await self.ask(RunStatement(statement="PRAGMA data_version"))
        version = answer.rows[0][0]
        if version != self._version:
            found = await self.news()
            self._version = version
            return found
        if time.monotonic() - self._read_at < STALE:
            return frozenset()
        self._read_at = time.monotonic()
        return frozenset({"agents"})

    async def news(self) -> frozenset[Part]:
        """What the events since the last call have touched; the live part always, because it has no events."""
        self._read_at = time.monotonic()
        if self._cursor is None:
            newest = await self.ask(ListEvents(limit=1))
            self._cursor = newest[-1].id if newest else 0
            return PARTS
        events = await self.ask(ListEvents(project=self.project, after=self._cursor, limit=MANY))
        if len(events) == MANY:
            self.forget()
            return await self.news()
        if events:
            self._cursor = events[-1].id
        subjects = {event.kind.partition(".")[0] for event in events}
        return frozenset({"agents", *(TOUCHES[subject] for subject in subjects if subject in TOUCHES)})

    def forget(self) -> None:
        """Have everything read again, because something of it was not."""
        self._version = self._cursor = None

    def close(self) -> None:
        """Close the database, when the thread has done what it is at."""
        self._thread.submit(self._client.close)
        self._thread.shutdown()
