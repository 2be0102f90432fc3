"""Read the files that agents write while they write them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from herdr.files import Folder, NotPlainError


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file, in order; a file that is not there, or is no plain file, has none.

    A line that is not an object is passed over: the last one may still be half written, and a process that was
    killed leaves half a line in the middle once another goes on with its file.
    """
    try:
        with Folder.open(path.parent) as folder:
            descriptor = folder.open_file(path.name)
    except (OSError, NotPlainError):
        return
    with os.fdopen(descriptor, "rb") as file:
        for line in file:
            try:
                value = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
            if isinstance(value, dict):
                yield value
