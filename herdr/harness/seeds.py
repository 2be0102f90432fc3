"""Write the files that an agent finds at its start."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from herdr.contract.harness import Seed
from herdr.home import atomic_write, disk_error


def write_seeds(seeds: Iterable[Seed]) -> list[Path]:
    """Write each seed that is missing or may be replaced, and return what was written.

    Nobody ever sees a file half written: agents that share a profile may start at the same moment.

    Raises:
        HerdrError: a file cannot be written.
    """
    return [seed.path for seed in seeds if _write(seed)]


def _write(seed: Seed) -> bool:
    if os.path.lexists(seed.path) and not seed.replace:
        return False
    try:
        seed.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if seed.link is not None:
            return _link(seed.path, seed.link)
        atomic_write(seed.path, seed.content, mode=seed.mode)
    except OSError as error:
        raise disk_error(error, seed.path) from error
    return True


def _link(path: Path, target: Path) -> bool:
    if path.is_symlink() and path.readlink() == target:
        return False
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    fresh.symlink_to(target)
    fresh.replace(path)
    return True
