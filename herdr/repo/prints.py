"""Fingerprints of the person's own files that agents and evaluators can write to: no view could be made of them.

What they were when they were first lent, or when a person last agreed to them, is kept in a file of herdr's own
repository. Until a person agrees again, every score that was made with other files is no score to judge by.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

import msgspec

from herdr.files import Folder
from herdr.repo.files import read_file
from herdr.repo.linked import walk
from herdr.repo.lock import repo_lock
from herdr.repo.own import OwnRepository

#: The file of what was agreed to, and bytes of it that are read.
FILE, FILE_LIMIT = "linked.json", 1024**3
#: Bytes of a file that is read for its content, and of all such files of a path; else times and sizes count.
READ, READ_ALL = 4 * 1024 * 1024, 256 * 1024 * 1024
#: Files that are looked at of one path.
MOST = 500_000
#: Names of what programs write beside data although nobody has changed anything.
PASSING = ("*.pyc", "*.pyo", "*.lock", "*.lck", "*~", ".lock", ".DS_Store")
PASSING_FOLDERS = ("__pycache__", ".locks", ".pytest_cache", ".mypy_cache", ".ruff_cache")


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """One file: its size, when its content and when anything of it changed (ns), and a hash of a small one."""

    size: int
    mtime: int
    ctime: int
    content: str | None = None

    def same(self, other: Mark) -> bool:
        """Whether both have the same content, as far as can be told."""
        if self.content is not None and other.content is not None:
            return self.content == other.content
        return (self.size, self.mtime) == (other.size, other.mtime)


class Agreed(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has agreed to.

    Attributes:
        link: which `link` path it belongs to: itself, or one with a symlink that leads here.
        files: each file below it, by its path relative to it.
    """

    link: str
    files: dict[str, Mark]


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """All that was agreed to, by path: relative to the checkout, or absolute for one outside of it.

    Attributes:
        paths: each path.
        changed_at: when a person last agreed to other files than before, in seconds since the epoch.
    """

    paths: dict[str, Agreed] = {}
    changed_at: float = 0.0


def lend(own: OwnRepository, link: str, paths: Sequence[str]) -> None:
    """Note what the person's files are, of paths that are lent for the first time.

    Args:
        own: the project's repository of herdr's own.
        link: the `link` path to which they belong.
        paths: relative to the checkout, or absolute.
    """
    known = _read(own).paths
    if all(path in known for path in paths):
        return
    with repo_lock(own.path):
        ledger = _read(own)
        fresh = {
            path: Agreed(link=link, files=fingerprint(own.root / path))
            for path in paths
            if path not in ledger.paths
        }
        _write(own, msgspec.structs.replace(ledger, paths={**ledger.paths, **fresh}))


def look(own: OwnRepository, link: Sequence[str]) -> dict[str, dict[str, Mark]]:
    """The fingerprints of now of what is lent, by path.

    Args:
        own: the project's repository of herdr's own.
        link: the `link` paths that are to be as agreed; others are not looked at.
    """
    agreed = _read(own).paths
    return {path: fingerprint(own.root / path, one.files) for path, one in agreed.items() if one.link in link}


def changes(own: OwnRepository, link: Sequence[str]) -> list[str]:
    """The files of what is lent that are not what a person has agreed to, sorted.

    Args:
        own: the project's repository of herdr's own.
        link: the `link` paths that are to be as agreed.
    """
    agreed = _read(own).paths
    found = look(own, link)
    return sorted(name for path, now in found.items() for name in _differ(path, agreed[path].files, now))


def meddled(before: Mapping[str, Mapping[str, Mark]], after: Mapping[str, Mapping[str, Mark]]) -> list[str]:
    """The files that somebody has written to between two looks, even if they are now what they were.

    Args:
        before: what `look` gave.
        after: what it gave later.
    """
    return sorted(
        _name(path, name)
        for path in before.keys() & after.keys()
        for name in before[path].keys() | after[path].keys()
        if before[path].get(name) != after[path].get(name)
    )


def agree(own: OwnRepository) -> float:
    """A person has seen the files as they are now; gives when that last changed them, in seconds since the epoch.

    Args:
        own: the project's repository of herdr's own.
    """
    with repo_lock(own.path):
        ledger = _read(own)
        now = {
            path: Agreed(link=one.link, files=fingerprint(own.root / path, one.files))
            for path, one in ledger.paths.items()
        }
        other = any(_differ(path, ledger.paths[path].files, one.files) for path, one in now.items())
        changed_at = time.time() if other else ledger.changed_at
        _write(own, Ledger(paths=now, changed_at=changed_at))
    return changed_at


def carry_over(old: OwnRepository, new: OwnRepository) -> None:
    """Take what was agreed to along to a project's new name.

    Args:
        old: herdr's own repository under the old name.
        new: the one under the new name.
    """
    ledger = _read(old)
    if ledger.paths:
        with repo_lock(new.path):
            _write(new, ledger)


def fingerprint(source: Path, known: Mapping[str, Mark] | None = None) -> dict[str, Mark]:
    """What there is below a path; nothing when it is gone.

    Args:
        source: a file or folder; symlinks in it are not followed, it may be one itself.
        known: an earlier fingerprint: a file whose times are the same is not read again.
    """
    top, room, found = Path(os.path.realpath(source)), READ_ALL, dict[str, Mark]()
    if not top.exists():
        return found
    for entry in walk(top):
        name = os.path.relpath(entry.path, top)
        if name != "." and _is_passing(name):
            continue
        if len(found) >= MOST:
            break
        with contextlib.suppress(FileNotFoundError):
            seen = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(seen.st_mode):
                continue
            readable = seen.st_size <= READ and room >= seen.st_size
            mark = _mark(Path(entry.path), seen, (known or {}).get(name), readable=readable)
            room -= seen.st_size if mark.content is not None else 0
            found[name] = mark
    return found


def _mark(path: Path, seen: os.stat_result, known: Mark | None, *, readable: bool) -> Mark:
    times = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
    # Nobody can set the time at which a file's entry changed.
    if known is not None and times == (known.size, known.mtime, known.ctime):
        return known
    if stat.S_ISLNK(seen.st_mode):
        return Mark(*times, os.fsencode(path.readlink()).hex())
    content = read_file(path, limit=READ) if readable and stat.S_ISREG(seen.st_mode) else None
    return Mark(*times, hashlib.sha256(content).hexdigest() if content is not None else None)


def _is_passing(name: str) -> bool:
    *folders, last = Path(name).parts
    return any(one in PASSING_FOLDERS for one in folders) or any(fnmatch(last, pattern) for pattern in PASSING)


def _differ(path: str, before: Mapping[str, Mark], after: Mapping[str, Mark]) -> list[str]:
    gone = before.keys() ^ after.keys()
    other = [name for name in before.keys() & after.keys() if not before[name].same(after[name])]
    return [_name(path, name) for name in (*gone, *other)]


def _name(path: str, name: str) -> str:
    return path if name == "." else f"{path}/{name}"


def _read(own: OwnRepository) -> Ledger:
    content = read_file(own.path / FILE, limit=FILE_LIMIT)
    return msgspec.json.decode(content, type=Ledger) if content else Ledger()


def _write(own: OwnRepository, ledger: Ledger) -> None:
    with Folder.open(own.path) as folder:
        folder.replace(FILE, msgspec.json.encode(ledger), 0o600)
