"""Carries the files that git-lfs keeps beside the objects; a commit holds their hashes alone."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from herdr.repo.files import is_folder
from herdr.repo.own import THROW_AWAY
from herdr.repo.snapshot import Snapshot

_HASH = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[0-9a-f]{2}")
MEDIA = Path("lfs/objects")
#: Bytes that one run may bring.
SIZE_LIMIT = 16 * 1024**3


def bring_media(source: Path, target: Path, snapshot: Snapshot) -> list[str]:
    """Copy the files of one git folder's git-lfs that another one's lacks; says which could not be copied.

    Args:
        source: a git folder; its files are copied only when they hash to their names.
        target: the git folder that gets them.
        snapshot: the person's configuration, which says whether git-lfs is used.
    """
    if not any(key.startswith("filter.lfs.") for key, _ in snapshot.config):
        return []
    problems: list[str] = []
    left = SIZE_LIMIT
    for name, path in _media(source / MEDIA):
        place = target / MEDIA / name[:2] / name[2:4] / name
        if place.exists():
            continue
        size = path.lstat().st_size
        left -= size
        if left < 0:
            return [*problems, f"files of git-lfs beyond {SIZE_LIMIT} bytes were not taken over"]
        if not _copy(path, place, name):
            problems.append(f"the file {name[:12]} of git-lfs does not hash to its name, and was not taken over")
    return problems


def _media(top: Path) -> Iterator[tuple[str, Path]]:
    for first in _folders(top):
        for second in _folders(first):
            for path in sorted(second.iterdir()):
                if _HASH.fullmatch(path.name) and stat.S_ISREG(path.lstat().st_mode):
                    yield path.name, path


def _folders(top: Path) -> list[Path]:
    if not is_folder(top):
        return []
    return [path for path in sorted(top.iterdir()) if _PART.fullmatch(path.name) and is_folder(path)]


def _copy(source: Path, target: Path, name: str) -> bool:
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{THROW_AWAY}{name}-{os.getpid()}")
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        with os.fdopen(descriptor, "rb") as original, fresh.open("wb") as copy:
            shutil.copyfileobj(original, copy, 1024 * 1024)
        with fresh.open("rb") as copy:
            found = hashlib.sha256()
            while block := copy.read(1024 * 1024):
                found.update(block)
        if found.hexdigest() != name:
            return False
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return True
