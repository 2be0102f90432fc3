"""The policy check: what a candidate changes, held against the editable surface."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from herdr.api import HerdrError
from herdr_polyresearch.protocol.surface import Surface
from herdr_polyresearch.protocol.threads import ChangedFile

PROTECTED = ("PROGRAM.md", "PREPARE.md", "POLYRESEARCH.md", "results.tsv")
"""Files that are never a candidate's, whatever the lists say."""
PROTECTED_DIRECTORY = ".polyresearch/"

LINKS = {"120000": "it is a symbolic link", "160000": "it is a submodule"}
"""What brings in contents that no list names, by its mode."""


class SurfaceError(HerdrError):
    """PROGRAM.md's lists cannot be applied."""


class Violation(msgspec.Struct, frozen=True):
    """A file that a candidate may not change so, and why."""

    path: str
    reason: str


NOTHING = Violation(".", "the candidate changes no file")
"""What is said of a candidate that nobody could measure: it is its base."""


def check(surface: Surface, changes: Sequence[ChangedFile]) -> tuple[Violation, ...]:
    """Return what a candidate changes outside the surface; empty when it passes.

    Both names of a renamed file count, as taking a file away changes the place it was in; so does a file of which
    only the mode changes. Symbolic links and submodules are refused wherever they are, and so is
    a candidate without any change.

    Args:
        surface: PROGRAM.md's lists, of the default branch.
        changes: every file that differs from the merge base.

    Raises:
        SurfaceError: a pattern means nothing, so that nobody can say what passes.
    """
    if surface.broken:
        raise SurfaceError(
            f"PROGRAM.md lists a pattern that means nothing: {surface.broken[0]}",
            fix="correct it in PROGRAM.md: a bracket, a brace or a backslash is left open",
        )
    if not changes:
        return (NOTHING,)
    return tuple(violation for change in changes if (violation := _violation(surface, change)))


def _violation(surface: Surface, change: ChangedFile) -> Violation | None:
    for path in filter(None, (change.path, change.previous_path)):
        if path in PROTECTED or path.startswith(PROTECTED_DIRECTORY):
            return Violation(path, "it belongs to the protocol")
        if not surface.allows(path):
            return Violation(path, "it is outside the editable surface")
    link = LINKS.get(change.new_mode or "")
    return Violation(change.path, link) if link else None
