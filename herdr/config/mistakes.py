"""What is wrong with a `piloop.toml`: one line for each mistake, all of them at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from herdr.errors import HerdrError

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
SHOWN = 60


class Mistake(msgspec.Struct, frozen=True):
    """One thing that a person has to change.

    Args:
        path: where, as in `metrics[0].role`; the variable's name for a value from the environment.
        problem: what is wrong, in words that follow a colon.
        fix: what to do about it.
        value: the wrong value as a person would write it, or None where a key is missing.
    """

    path: str
    problem: str
    fix: str
    value: str | None = None

    @property
    def without_fix(self) -> str:
        """Where it is, with the wrong value, and what is wrong with it."""
        at = self.path if self.value is None else f"{self.path} = {self.value}"
        return printable(f"{at}: {self.problem}")

    def __str__(self) -> str:
        end = "" if self.fix.endswith((".", "?")) else "."
        return printable(f"{self.without_fix}. Fix: {self.fix}{end}")


class ConfigError(HerdrError):
    """The file cannot be used; its message is one line for each mistake.

    Args:
        file: the file that was read.
        mistakes: at least one.
    """

    exit_code = 2

    def __init__(self, file: Path, mistakes: Sequence[Mistake]) -> None:
        self.file = file
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in mistakes))


def printable(text: str) -> str:
    """The text on one line: what a file holds must neither break the line nor control the terminal."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def at_key(path: str, key: str) -> str:
    """The path of `key` in the table at `path`. A key with other characters than TOML's bare keys is quoted."""
    written = key if BARE_KEY.fullmatch(key) else repr(key)
    return f"{path}.{written}" if path else written


def show(value: Any) -> str:
    """A value on one line of at most 60 characters, tables and lists only hinted at."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{…}" if value else "{}"
    if isinstance(value, list):
        first = "[…]" if value and isinstance(value[0], list) else "".join(show(item) for item in value[:1])
        return f"[{first}, …]" if len(value) > 1 else f"[{first}]"
    if isinstance(value, int) and value.bit_length() > 64:
        return "a number of more than 64 bits"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
