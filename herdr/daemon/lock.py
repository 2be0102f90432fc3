"""One daemon per home: the lock it holds, and how another process finds it and tells it to stop."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from herdr.errors import HerdrError
from herdr.home import Home, disk_error
from herdr.locking import open_lock, take_lock

#: Stop, and leave the agents running for the next daemon.
KEEP_AGENTS = signal.SIGTERM
#: End every agent, give its run back to the queue, and stop.
KILL_AGENTS = signal.SIGUSR2
#: Seconds without a sign of life after which a daemon is said not to work any more; one comes every ten seconds.
STALLED = 120.0


class DaemonRunningError(HerdrError):
    """Another daemon holds the home."""


@contextmanager
def daemon_lock(home: Home) -> Iterator[None]:
    """Hold the home's lock; the kernel lets it go when the process ends, however it ends.

    Raises:
        DaemonRunningError: another daemon holds it.
        HerdrError: the lock file cannot be written.
    """
    descriptor = _open(home.lock)
    try:
        if not take_lock(descriptor, 0):
            raise DaemonRunningError(
                f"a daemon (pid {_read_pid(home.lock) or '?'}) already runs for {home.root}",
                fix="herdr status shows it; herdr down stops it",
            )
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def daemon_pid(home: Home) -> int | None:
    """The pid of the daemon that holds the home, or None when none does."""
    try:
        descriptor = os.open(home.lock, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read_pid(home.lock)
    finally:
        os.close(descriptor)
    return None


def beat(home: Home) -> None:
    """Show that the daemon still works: by the time of its lock file, which costs nothing to look at.

    Args:
        home: the home that it holds.
    """
    with suppress(OSError):
        os.utime(home.lock)


def stalled(home: Home) -> float | None:
    """For how many seconds the daemon of a home has not worked any more; None while it does, or none runs.

    Args:
        home: the home.
    """
    if daemon_pid(home) is None:
        return None
    try:
        silent = time.time() - home.lock.stat().st_mtime
    except OSError:
        return None
    return silent if silent > STALLED else None


def _open(path: Path) -> int:
    try:
        return open_lock(path)
    except OSError as error:
        raise disk_error(error, path) from error


def _read_pid(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
