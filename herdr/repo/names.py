"""Names made from free text that are safe as a part of a ref, a tmux name or a folder."""

from __future__ import annotations

import re
import unicodedata

DEFAULT_LENGTH = 40


def slug(text: str, *, length: int = DEFAULT_LENGTH, fallback: str = "x") -> str:
    """Lower-case ASCII letters, digits and single dashes made from any text.

    Never empty, never longer than `length`, never starting or ending with a dash; it holds no dot, so it
    cannot end in `.lock` either (git's rules for refs, `git check-ref-format`).

    Args:
        text: anything: a title, a project's name.
        length: the most characters, at least 1.
        fallback: what stands for text without one usable character.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:length].rstrip("-") or fallback
