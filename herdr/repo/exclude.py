"""Keeps herdr's own files out of `git status` without touching a file that the user commits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from herdr.repo.lock import repo_lock

#: What herdr puts into a checkout and into the worktrees of runs.
OWN_PATTERNS = ("/.herdr/", "/.worktrees/")

BEGIN, END = b"# herdr: begin (made and kept up to date by herdr)", b"# herdr: end"


def add_excludes(common: Path, patterns: Sequence[str]) -> None:
    """Make sure that `.git/info/exclude` holds these patterns, in a block of our own.

    The block comes first, so that the user's own lines have the last word.

    Args:
        common: the repo's common git folder.
        patterns: gitignore patterns; those of earlier calls stay.
    """
    path = Path(os.path.realpath(common / "info" / "exclude"))
    if not _missing(path, patterns):
        # The usual case, which must not wait for the lock: a checkout of another herdr can hold it for minutes.
        return
    with repo_lock(common):
        ours, rest = _split(path)
        added = _missing(path, patterns)
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f"{path.name}.herdr")
        fresh.write_bytes(b"\n".join([BEGIN, *ours, *added, END, b""]) + rest)
        if path.exists():
            fresh.chmod(path.stat().st_mode & 0o777)
        fresh.replace(path)


def _missing(path: Path, patterns: Sequence[str]) -> list[bytes]:
    ours, _ = _split(path)
    return [line for line in map(os.fsencode, patterns) if line not in ours]


def _split(path: Path) -> tuple[list[bytes], bytes]:
    content = path.read_bytes() if path.exists() else b""
    before, begin, after = content.partition(BEGIN + b"\n")
    block, end, behind = after.partition(END + b"\n")
    if not begin or not end:
        return [], content
    return block.splitlines(), before + behind
