"""Lends the objects of a repository that an agent can write to, to a throw-away git folder: regular files alone.

Whatever else lies there (a fifo that would have git wait, alternates that lead elsewhere, a commit graph) stays
behind.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from herdr.errors import HerdrError
from herdr.repo.files import is_folder

_FOLDER = re.compile(r"[0-9a-f]{2}")
_LOOSE = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACK = re.compile(r"pack-[0-9a-f]{40}(?:[0-9a-f]{24})?\.(?:pack|idx)")
#: How many objects may lie there as files of their own.
MOST_FILES = 250_000


class LendError(HerdrError):
    """Objects could not be had; the message says why in a few words."""


def lend(objects: Path, folder: Path) -> None:
    """Link the files of an object folder into another one.

    Args:
        objects: the object folder, which may hold anything.
        folder: an object folder of herdr's own.

    Raises:
        LendError: there are too many, or the folder is gone.
        OSError: the disk is full.
    """
    if not is_folder(objects):
        raise LendError("the run's repository has no objects any more")
    for count, (name, entry) in enumerate(_objects(objects), 1):
        if count > MOST_FILES:
            raise LendError(f"its repository has more than {MOST_FILES} loose objects; git gc packs them")
        target = folder / name
        target.mkdir(exist_ok=True)
        _link(entry.path, target / entry.name)


def _objects(objects: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(objects) as folders:
        names = sorted(folder.name for folder in folders)
    for name in names:
        pattern = _PACK if name == "pack" else _LOOSE if _FOLDER.fullmatch(name) else None
        if pattern is None or not is_folder(objects / name):
            continue
        with os.scandir(objects / name) as entries:
            for entry in entries:
                if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield name, entry


def _link(source: str, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except FileNotFoundError:
        return
    except OSError as error:
        # Another file system, or one without links.
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
            raise
        shutil.copyfile(source, target, follow_symlinks=False)
