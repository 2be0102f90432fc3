"""Locks on files between processes; the kernel lets one go when its holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

#: Seconds between two tries; the kernel wakes only those who wait without an end.
POLL = 0.02


def open_lock(path: Path) -> int:
    """Open the file of a lock, made when it is missing; the lock lasts until the descriptor is closed.

    Raises:
        OSError: it cannot be written, or is a symbolic link, which would have another file made elsewhere.
    """
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def take_lock(descriptor: int, timeout: float | None) -> bool:
    """Take the lock of an open file for us alone, and say whether we have it.

    Args:
        descriptor: the open file.
        timeout: how many seconds to wait for others; 0 tries once, None waits as long as it takes.
    """
    if timeout is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL)
        else:
            return True
