"""Reads, writes and deletes the files of a repository that somebody else can have changed; see `herdr.files`."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from pathlib import Path

from herdr.files import Folder

#: Bytes of a small file of git's (HEAD, a ref, a pointer to another folder); none of them is longer.
FILE_LIMIT = 64 * 1024

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_file(path: Path, *, limit: int = FILE_LIMIT, end: bool = False) -> bytes | None:
    """The content of a regular file; None when there is none.

    Args:
        path: the file.
        limit: how many bytes of it are read at most.
        end: read the last bytes of a longer one, not the first.
    """
    try:
        descriptor = os.open(path, _READ)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            if end:
                file.seek(max(found.st_size - limit, 0))
            return file.read(limit)
    finally:
        os.close(descriptor)


def write_file(top: Path, name: str, content: bytes) -> None:
    """Replace a file below a folder, as a whole; folders on the way are made, and none of them may be a link.

    Args:
        top: the folder, a real one.
        name: the file, relative to it and without `..`.
        content: what it is to hold.

    Raises:
        NotPlainError: a link or a file is in the place of a folder, a folder in that of the file, or no space.
    """
    *folders, last = name.split("/")
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(Folder.open(top))
        for inner in folders:
            folder = opened.enter_context(folder.inner(inner, make=True))
        folder.replace(last, content, 0o644)


def is_folder(path: Path) -> bool:
    """Whether this is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def delete_entry(path: Path) -> None:
    """Delete whatever is there: a file, a link (not what it names), or a folder whole; nothing is fine."""
    if is_folder(path):
        delete_tree(path)
    else:
        path.unlink(missing_ok=True)


def delete_tree(path: Path) -> None:
    """Delete a folder whole, never following a symlink, read-only folders (Go's module cache) included.

    Args:
        path: the folder; a missing one is fine.
    """
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        path.chmod(0o700)
        for parent, folders, _ in os.walk(path):
            for folder in folders:
                if not Path(parent, folder).is_symlink():
                    Path(parent, folder).chmod(0o700)
        shutil.rmtree(path)
