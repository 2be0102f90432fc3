"""The editable surface: PROGRAM.md's lists of what may and what may not be changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from herdr_polyresearch.protocol.scalars import lines, trim

CAN = "## What you CAN modify"
CANNOT = "## What you CANNOT modify"
_DASHES = (" \N{EM DASH} ", " \N{EN DASH} ", " - ")


class PatternError(ValueError):
    """A pattern that means nothing."""


class Surface(msgspec.Struct, frozen=True, kw_only=True):
    """The patterns, in the order in which they are written."""

    can: tuple[str, ...] = ()
    cannot: tuple[str, ...] = ()

    def allows(self, path: str) -> bool:
        """Whether a file may be changed: some `can` pattern takes it and no `cannot` pattern does.

        As the existing tool has it, a pattern that means nothing allows no file at all in the one list and is
        passed over in the other; see `broken`.
        """
        return all(map(_compiled, self.can)) and _listed(self.can, path) and not _listed(self.cannot, path)

    def violations(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Return the paths that may not be changed."""
        return tuple(path for path in paths if not self.allows(path))

    @property
    def broken(self) -> tuple[str, ...]:
        """The patterns that mean nothing, so that somebody can be told."""
        return tuple(pattern for pattern in (*self.can, *self.cannot) if _compiled(pattern) is None)


def read_surface(text: str) -> Surface:
    """Read the two lists of PROGRAM.md.

    A section starts at its exact heading of the second level and ends at the next heading of that level. An item
    is a line with `- `: one pattern, in back-ticks or up to the dash that starts its description.
    """
    sections: dict[str, list[str]] = {CAN: [], CANNOT: []}
    current: list[str] | None = None
    for raw in lines(text):
        line = trim(raw)
        if line.startswith("## "):
            current = sections.get(line)
        elif current is not None and line.startswith("- "):
            pattern = _pattern(line.removeprefix("- "))
            if pattern:
                current.append(pattern)
    return Surface(can=tuple(sections[CAN]), cannot=tuple(sections[CANNOT]))


def glob_regex(pattern: str) -> re.Pattern[str]:
    """Compile a pattern: anchored to the repository's root, case-sensitive, `*` and `?` crossing `/`.

    `**` between slashes stands for any directories or none, `[…]` and `[!…]` for a character, `{a,b}` for either,
    and a backslash takes the next character as it is. A pattern that ends with `/` takes all below.

    Raises:
        PatternError: a bracket, brace or backslash is left open.
    """
    return re.compile(_Glob(pattern + "**" if pattern.endswith("/") else pattern).regex(), re.DOTALL)


def _pattern(item: str) -> str:
    cut = min((at for at in map(item.find, _DASHES) if at >= 0), default=len(item))
    text = trim(item[:cut])
    span = re.search("`([^`]*)`", text)
    return trim(span[1]) if span else trim(text.strip("`"))


def _listed(patterns: Sequence[str], path: str) -> bool:
    """Whether the last pattern that takes `path` is one without `!`: as in a gitignore file, that takes back."""
    listed = False
    for pattern in patterns:
        compiled = _compiled(pattern)
        negated = pattern.startswith("!")
        if compiled and listed == negated and compiled.fullmatch(path):
            listed = not negated
    return listed


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return glob_regex(pattern.removeprefix("!"))
    except PatternError:
        return None


class _Glob:
    """One pass over a pattern."""

    def __init__(self, pattern: str) -> None:
        self.text = pattern
        self.at = 0
        self.depth = 0

    def regex(self) -> str:
        parts = []
        while self.at < len(self.text):
            parts.append(self._next())
        if self.depth:
            raise PatternError(f"unclosed {{ in {self.text!r}")
        return "".join(parts)

    def _next(self) -> str:
        char = self.text[self.at]
        if char == "*":
            return self._stars()
        self.at += 1
        if char == "?":
            return "."
        if char == "[":
            return self._class()
        if char == "\\":
            return self._escaped()
        if char == "{":
            self.depth += 1
            return "(?:"
        if char == "}":
            self.depth -= 1
            if self.depth < 0:
                raise PatternError(f"unopened }} in {self.text!r}")
            return ")"
        return "|" if char == "," and self.depth else re.escape(char)

    def _stars(self) -> str:
        start = self.at
        while self.text[self.at : self.at + 1] == "*":
            self.at += 1
        if self.at - start != 2:
            return ".*"
        first = start == 0
        before = first or self.text[start - 1] == "/"
        after = self.text[self.at : self.at + 1]
        if before and after == "/":
            self.at += 1
            return "(?:.*/)?"
        return ".+" if before and not first and not after else ".*"

    def _class(self) -> str:
        negated = self.text[self.at : self.at + 1] in ("!", "^")
        start = self.at + negated
        # `]` directly after `[` is one of the characters, not the end of the set.
        end = self.text.find("]", start + 1)
        if end < 0:
            raise PatternError(f"unclosed [ in {self.text!r}")
        self.at = end + 1
        members = re.sub(r"([\\\[\]^&~|])", r"\\\1", self.text[start:end])
        regex = f"[{'^' if negated else ''}{members}]"
        try:
            re.compile(regex)
        except re.error:
            raise PatternError(f"a range that ends before it starts in {self.text!r}") from None
        return regex

    def _escaped(self) -> str:
        if self.at == len(self.text):
            raise PatternError(f"a backslash ends {self.text!r}")
        self.at += 1
        return re.escape(self.text[self.at - 1])
