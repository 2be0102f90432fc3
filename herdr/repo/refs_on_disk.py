"""What HEAD and the refs of a run's repository name, and have named, read as files.

Git is not run in a repository that an agent can write to, and a plain file cannot be anything else than what it says.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from herdr.repo.isolated import Isolated, read_file

#: A full object id, of SHA-1 or SHA-256.
_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
#: Bytes of a reflog, or of all packed refs, that are read; the newest entries of a longer one.
LOG_LIMIT = 4 * 1024 * 1024
#: How many files of refs, and of reflogs, are looked at.
FILES = 10_000
#: How many folders of refs are looked at to see whether one has moved.
FOLDERS = 64
#: How far a symbolic ref is followed.
HOPS = 5


class Refs(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository's refs say.

    Attributes:
        head: the commit that HEAD stands on; None when there is none.
        branch: the ref that HEAD names, such as `refs/heads/x`; None when it is detached.
        tips: the commits that branches name.
        stood_on: the commits that HEAD or a branch has named according to the reflogs, the oldest first.
        stash: the newest stash.
        problems: what could not be read, a sentence each.
    """

    head: str | None
    branch: str | None
    tips: tuple[str, ...] = ()
    stood_on: tuple[str, ...] = ()
    stash: str | None = None
    problems: tuple[str, ...] = ()


def read_refs(place: Isolated) -> Refs:
    """Read the refs of a run's repository.

    Args:
        place: the run's folder; the repository alone is looked at.
    """
    loose, problems = _loose(place.repository)
    named = _packed(place.repository) | loose
    branch, head = _head(place, named)
    logs = [
        place.admin / "logs/HEAD",
        place.repository / "logs/HEAD",
        *_files(place.repository / "logs/refs/heads"),
    ]
    entries = sorted(entry for path in logs for entry in _log(path))
    return Refs(
        head=head,
        branch=branch,
        tips=tuple(dict.fromkeys(sha for name, sha in named.items() if name.startswith("refs/heads/"))),
        stood_on=tuple(dict.fromkeys(sha for _, _, sha in entries)),
        stash=named.get("refs/stash"),
        problems=tuple(problems),
    )


def version(place: Isolated) -> tuple[int, ...]:
    """Changes whenever HEAD or a branch of the run's repository has moved; costs a few stats.

    Args:
        place: the run's folder.
    """
    paths = [place.admin / "logs/HEAD", place.admin / "HEAD", place.repository / "packed-refs"]
    for top in ("refs", "logs/refs"):
        # A ref is written by a rename, which changes its folder.
        walk = os.walk(place.repository / top, followlinks=False)
        paths += [Path(parent) for parent, _, _ in itertools.islice(walk, FOLDERS)]
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _head(place: Isolated, named: dict[str, str]) -> tuple[str | None, str | None]:
    content = read_file(place.admin / "HEAD") or b""
    branch = None
    for _ in range(HOPS):
        if not content.startswith(b"ref:"):
            found = _ID.match(content)
            return branch, found[0].decode() if found else None
        branch = os.fsdecode(content[4:].strip())
        if branch in named:
            return branch, named[branch]
        content = (read_file(place.repository / branch) if _is_ref(branch) else None) or b""
    return branch, None


def _is_ref(name: str) -> bool:
    return name.startswith("refs/") and ".." not in name.split("/") and "\0" not in name


def _packed(repository: Path) -> dict[str, str]:
    content = _read(repository / "packed-refs")
    found = {}
    for line in content.splitlines():
        sha, _, name = line.partition(b" ")
        if _ID.fullmatch(sha) and name.startswith(b"refs/"):
            found[os.fsdecode(name)] = sha.decode()
    return found


def _loose(repository: Path) -> tuple[dict[str, str], list[str]]:
    found, problems = {}, []
    for path in _files(repository / "refs"):
        name = os.fsdecode(os.path.relpath(path, repository))
        content = read_file(path)
        sha = _ID.match(content or b"")
        if sha is not None:
            found[name] = sha[0].decode()
        elif content is None or not content.startswith(b"ref:"):
            problems.append(f"{name} of the run's repository cannot be read")
    return found, problems


def _log(path: Path) -> Iterator[tuple[int, int, str]]:
    """The entries of a reflog: when, which line, and the commit that it says the ref went to."""
    for number, line in enumerate(_read(path).splitlines()):
        head, _, _ = line.partition(b"\t")
        words = head.split(b" ")
        if len(words) < 2 or not _ID.fullmatch(words[1]) or not words[1].strip(b"0"):
            continue
        when = words[-2] if len(words) > 3 and words[-2].isdigit() else b"0"
        # Two words of the first line are the ids; what a ref was before herdr's time is not the run's.
        yield int(when), number, words[1].decode()


def _files(folder: Path) -> Iterator[Path]:
    """The regular files below a folder, sorted, at most `FILES`; links are not followed."""
    count = 0
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > FILES:
                return
            if not name.endswith(".lock"):
                yield Path(parent, name)


def _read(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return b""
        file.seek(max(found.st_size - LOG_LIMIT, 0))
        return file.read(LOG_LIMIT)
