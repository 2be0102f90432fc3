"""herdr's daemon as it is, but each process that it starts and each of its ticks is written down with its time.

Run as `python -m bench.watched FILE`. A line of FILE is the time in seconds since the epoch, `process` or `tick`,
and for a tick its length, what of that the loop computed (both in seconds), and how many tasks it woke.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from herdr.daemon import app_context, main
from herdr.daemon.change_notifier import ChangeNotifier

#: What Python announces when it starts a process.
STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})

Note = Callable[..., None]


class Line(msgspec.Struct, frozen=True, array_like=True):
    """One line of the record."""

    at: float
    kind: str
    seconds: float = 0.0
    computed: float = 0.0
    tasks: int = 0


class WatchedNotifier(ChangeNotifier):
    """Times its ticks: from the moment its first waiter wakes until all that it woke wait again."""

    def __init__(self, note: Note) -> None:
        super().__init__()
        self._note = note
        self._sleepers: set[asyncio.Task[Any] | None] = set()
        self._awake: set[asyncio.Task[Any] | None] = set()
        self._woken, self._began, self._computed = 0, 0.0, 0.0

    async def wait(self, timeout: float | None = None) -> bool:
        """As the notifier does, and watched."""
        task = asyncio.current_task()
        if task in self._awake:
            self._awake.discard(task)
            if not self._awake:
                took, computed = time.perf_counter() - self._began, time.thread_time() - self._computed
                self._note("tick", took, computed, self._woken)
        self._sleepers.add(task)
        rang = False
        try:
            rang = await super().wait(timeout)
        finally:
            if rang and not self._awake:
                self._awake, self._woken = set(self._sleepers), len(self._sleepers)
                self._began, self._computed = time.perf_counter(), time.thread_time()
            self._sleepers.discard(task)
        return rang


def read(path: Path) -> list[Line]:
    """The record as far as it is written."""
    return [msgspec.json.decode(line, type=Line) for line in path.read_bytes().splitlines()]


def run(path: str) -> int:
    """Be the daemon, and write the record to `path`."""
    record = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(kind: str, *more: float) -> None:
        os.write(record, msgspec.json.encode([time.time(), kind, *more]) + b"\n")

    def hear(event: str, _: object) -> None:
        if event in STARTS:
            note("process")

    sys.addaudithook(hear)
    vars(app_context)["ChangeNotifier"] = lambda: WatchedNotifier(note)
    return main.main()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1]))
