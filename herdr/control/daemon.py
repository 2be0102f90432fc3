"""The daemon's process as a person's programs see it: started, waited for, looked at."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

from herdr.contract.words import EventKind
from herdr.daemon.lock import daemon_pid
from herdr.errors import HerdrError
from herdr.home import Home
from herdr.python import module_argv
from herdr.store.connection import open_store

DAEMON = module_argv("herdr.daemon")
#: Seconds for a daemon to be there, and for its fleet to be in tmux.
START_PATIENCE = 20.0
FLEET_PATIENCE = 15.0
LOOK = 0.05


def start_daemon(home: Home) -> int:
    """Start the daemon as a process of its own, and return its pid once it works.

    Raises:
        HerdrError: it ended at once; says what it wrote.
    """
    home.ensure()
    before = last_event(home, "daemon.started")
    size = home.log.stat().st_size if home.log.exists() else 0
    with home.log.open("ab") as log:
        process = subprocess.Popen(
            DAEMON, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
        )
    deadline = time.monotonic() + START_PATIENCE
    while last_event(home, "daemon.started") == before:
        if process.poll() is not None or time.monotonic() > deadline:
            raise _did_not_start(home, size)
        time.sleep(LOOK)
    # It outlives whoever started it; otherwise Python would complain that nobody waited for it.
    process.returncode = 0
    return process.pid


def _did_not_start(home: Home, size: int) -> HerdrError:
    with home.log.open("rb") as log:
        log.seek(size)
        lines = log.read().decode("utf-8", "replace").strip().splitlines()
    said = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), None)
    said = said or (lines[-1] if lines else "it says nothing")
    return HerdrError(f"the daemon did not start: {said}", fix=f"its log: {home.log}")


def last_event(home: Home, kind: EventKind) -> int:
    """The id of the newest event of a kind; 0 when there is none.

    Args:
        home: the home whose event log is read.
        kind: which events.
    """
    store = open_store(home.database, mode="read", actor="human")
    try:
        found: int = store.execute("SELECT coalesce(max(id), 0) FROM events WHERE kind = ?", (kind,)).fetchone()[
            0
        ]
        return found
    finally:
        store.close()


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether a condition came true within so many seconds.

    Args:
        condition: is called again and again.
        seconds: how long to wait for it at most.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK)
    return True


def is_running(home: Home) -> bool:
    """Whether a daemon holds the home."""
    return daemon_pid(home) is not None
