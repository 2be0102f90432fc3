"""One lock per repo, shared by all its worktrees and by every herdr process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from herdr.errors import HerdrError

#: Seconds to wait for others; checkouts of large repos take minutes and come one after the other.
LOCK_TIMEOUT = 3600.0
POLL = 0.02


def own_folder(common: Path) -> Path:
    """The folder for herdr's own notes inside the repo's common git folder."""
    folder = common / "herdr"
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def repo_lock(common: Path, *, timeout: float = LOCK_TIMEOUT) -> Iterator[int]:
    """Hold the lock of the repo whose common git folder is `common`.

    The descriptor that it yields can be handed to a git process. Then the lock outlives a killed holder
    for as long as that process still writes, and nobody repairs under its hands.

    Raises:
        HerdrError: somebody else held it for `timeout` seconds, or the folder cannot be written to.
    """
    try:
        path = own_folder(common) / "lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HerdrError(
            f"cannot write to {common}: {error.strerror}",
            fix="Check the folder's permissions and the disk's space.",
        ) from error
    try:
        deadline = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise HerdrError(
                        f"{path} has been held by another process for {timeout:g} seconds",
                        fix=f"See who: fuser -v {path}",
                    ) from None
                time.sleep(POLL)
        yield descriptor
    finally:
        os.close(descriptor)
