"""The maintainer's plain words: `/approve` and `/reject` at the start of a comment."""

from __future__ import annotations

import msgspec

from herdr_polyresearch.protocol.scalars import SPACES, trim


class Slash(msgspec.Struct, frozen=True):
    """`/approve` (or `/reject`, when `approve` is False) and what was said with it."""

    approve: bool
    reason: str | None


def read_slash(body: str) -> Slash | None:
    """Read a slash command; None when the body does not start with one.

    The word is case-sensitive and must end there: `/approved` is none. What follows is free text, even a block.
    """
    text = trim(body)
    for word, approve in (("/approve", True), ("/reject", False)):
        rest = text.removeprefix(word)
        if rest != text and (not rest or rest[0] in SPACES):
            return Slash(approve, trim(rest) or None)
    return None
