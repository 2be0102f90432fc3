"""What was read from a GitHub before, kept on disk so that the next read asks only for what changed since."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import msgspec

from herdr_polyresearch.protocol.threads import Comment, Issue, PullRequest, Repo

#: Raised with every change of the structs below or of those they hold.
VERSION = 1


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """A thread as the last listing showed it: a listing that shows the same again needs no further look."""

    updated_at: datetime
    comments: int


class Cache(msgspec.Struct, kw_only=True):
    """Everything that is known of one repository.

    `since` is the server's time when the last listing began; `repo_at` and `full_at` are our own times, in
    seconds, of the last look at the repository itself and of the last read of everything. Comments are kept of
    theses and pull requests only.
    """

    version: int = VERSION
    repo: Repo
    repo_at: float
    full_at: float
    since: datetime | None = None
    seen: dict[int, Seen] = {}
    issues: dict[int, Issue] = {}
    pulls: dict[int, PullRequest] = {}
    comments: dict[int, tuple[Comment, ...]] = {}
    deleted: tuple[Comment, ...] = ()


def load(path: Path) -> Cache | None:
    """The cache in this file; None when there is none of this version, or it is damaged."""
    try:
        found = msgspec.msgpack.decode(path.read_bytes(), type=Cache)
    except (OSError, msgspec.MsgspecError):
        return None
    return found if found.version == VERSION else None


def save(path: Path, cache: Cache) -> None:
    """Write it whole; of several processes the last one wins, which costs the others at most a second look.

    A cache that cannot be written is only slower, so that is no error.

    Args:
        path: the file.
        cache: what is known.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.write_bytes(msgspec.msgpack.encode(cache))
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
