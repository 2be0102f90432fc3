"""One lock per repo, shared by all its worktrees and by every herdr process."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from herdr.errors import HerdrError
from herdr.locking import open_lock, take_lock

#: Seconds to wait for others; checkouts of large repos take minutes and come one after the other.
LOCK_TIMEOUT = 3600.0


def own_folder(common: Path) -> Path:
    """The folder for herdr's own notes inside the repo's common git folder."""
    folder = common / "herdr"
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def repo_lock(common: Path, *, timeout: float = LOCK_TIMEOUT) -> Iterator[int]:
    """Hold the lock of the repo whose common git folder is `common`.

    The descriptor that it yields can be handed to a git process. When herdr is killed meanwhile, the lock stays
    held until that git process has ended too, so no other herdr repairs a worktree that git still writes.

    Args:
        common: the git folder that all worktrees of the repo share, see `checks.common_dir`.
        timeout: seconds to wait while another process holds it.

    Raises:
        HerdrError: another process held it for `timeout` seconds, or the folder cannot be written to.
    """
    try:
        path = own_folder(common) / "lock"
        descriptor = open_lock(path)
    except OSError as error:
        raise HerdrError(
            f"cannot write to {common}: {error.strerror}",
            fix="Check the folder's permissions and the disk's space.",
        ) from error
    try:
        if not take_lock(descriptor, timeout):
            raise HerdrError(
                f"{path} has been held by another process for {timeout:g} seconds",
                fix=f"See who: fuser -v {path}",
            )
        yield descriptor
    finally:
        os.close(descriptor)
