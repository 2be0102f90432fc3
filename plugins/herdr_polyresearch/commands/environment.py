"""The hash of `.polyresearch/`: the same for every checkout of the same environment."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from herdr_polyresearch.git import Git

FOLDER = ".polyresearch"


def env_sha(root: Path) -> str | None:
    """Hash the environment as `find .polyresearch/ -type f | sort | xargs sha256sum | sha256sum` does.

    Paths are relative and sorted by their bytes, so that neither the folder of the checkout nor the language of
    the machine counts. What git ignores is left out: set-ups build there what differs from machine to machine.

    Args:
        root: the worktree that the evaluation ran in.

    Returns:
        The hash in hex; None when there is no such folder.
    """
    if not (root / FOLDER).is_dir():
        return None
    flags = ("-z", "--cached", "--others", "--exclude-standard")
    names = {name for name in Git(root).do("ls-files", *flags, "--", FOLDER).split("\0") if name}
    total = hashlib.sha256()
    for name in sorted(map(os.fsencode, names)):
        path = root / os.fsdecode(name)
        if path.is_file() and not path.is_symlink():
            total.update(_line(hashlib.sha256(path.read_bytes()).hexdigest(), name))
    return total.hexdigest()


def _line(digest: str, name: bytes) -> bytes:
    """One line of sha256sum, which escapes names that would break it."""
    escaped = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    mark = b"\\" if escaped != name else b""
    return mark + digest.encode() + b"  " + escaped + b"\n"
