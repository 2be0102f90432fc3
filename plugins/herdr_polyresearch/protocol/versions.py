"""`cli_version`: which pinned versions of the existing tool this one can stand in for."""

from __future__ import annotations

import re

from herdr.api import HerdrError

COMPATIBLE = ((0, 3), (0, 4), (0, 5))
"""Series whose wire format and derivation are the ones that this package reads and writes."""


class VersionError(HerdrError):
    """The project pins a version that this one does not claim to be compatible with."""


def check_version(pinned: str | None, own: str) -> str | None:
    """Compare PROGRAM.md's `cli_version` with the versions we are compatible with.

    The pin names versions of the existing tool: taken literally, it would shut out either its nodes or ours.

    Args:
        pinned: the value of `cli_version`; None when there is none, and then nothing is checked.
        own: our own version.

    Returns:
        A warning to show when the pin is one that we take although we are not that version, else None.

    Raises:
        VersionError: the pin is not in the table.
    """
    if pinned is None or pinned == own:
        return None
    match = re.fullmatch(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.[0-9]+)?(?:[-+].*)?", pinned)
    if match and (int(match[1]), int(match[2])) in COMPATIBLE:
        return f"PROGRAM.md pins polyresearch {pinned}; this is herdr's {own}, which writes the same comments"
    known = ", ".join(f"{major}.{minor}.x" for major, minor in COMPATIBLE)
    raise VersionError(
        f"PROGRAM.md pins polyresearch {pinned}; herdr's {own} is compatible with {known} only",
        fix="set cli_version to one of those, or remove the line, in agreement with the maintainer",
    )
