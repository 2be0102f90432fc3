"""PROGRAM.md's `key: value` lines: the parameters that a project sets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import timedelta

import msgspec

from herdr.api import HerdrError
from herdr_polyresearch.protocol.scalars import lines, read_float, read_integer, trim
from herdr_polyresearch.protocol.words import DIRECTIONS, Direction

_KEY = re.compile("[A-Za-z0-9_]+")
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
UNSET = "replace-me"
"""What a template puts where a login belongs."""


class ProgramError(HerdrError):
    """PROGRAM.md sets a parameter to something that it cannot be."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters, under their names in the protocol's parameter reference, with its defaults."""

    required_confirmations: int = 0
    metric_tolerance: float | None = None
    metric_direction: Direction = "higher_is_better"
    lead_github_login: str | None = None
    maintainer_github_login: str | None = None
    auto_approve: bool = True
    assignment_timeout: timedelta = timedelta(hours=24)
    review_timeout: timedelta = timedelta(hours=12)
    min_queue_depth: int = 5
    max_queue_depth: int | None = None
    cli_version: str | None = None
    default_branch: str | None = None
    """Not in the reference; the existing tool has it from 0.5 on."""

    def is_better(self, metric: float, than: float) -> bool:
        """Whether a metric is strictly better than another in the project's direction.

        Args:
            metric: the number that may be better.
            than: the number that it has to beat.
        """
        return metric > than if self.metric_direction == "higher_is_better" else metric < than


def read_program(text: str) -> Program:
    """Scan every line of PROGRAM.md for the parameters.

    A line counts when it is `key: value` with a known key of letters, digits and underscores and some value;
    headings, bullets and prose are passed over, and the last of several lines wins.

    Args:
        text: the whole file.

    Raises:
        ProgramError: a known key has a value that it cannot have.
    """
    values: dict[str, object] = {}
    for number, raw in enumerate(lines(text), 1):
        line = trim(raw)
        key, colon, value = (trim(part) for part in line.partition(":"))
        if not colon or not value or line.startswith("#") or not _KEY.fullmatch(key) or key not in _READERS:
            continue
        try:
            values[key] = _READERS[key](value)
        except ValueError as wrong:
            raise ProgramError(
                f"PROGRAM.md line {number}: {key} cannot be {value!r}: {wrong}",
                fix=f"correct {key} in PROGRAM.md; a value ends with its line, and nothing may follow it",
            ) from None
    return msgspec.structs.replace(Program(), **values)


def read_duration(text: str) -> timedelta:
    """Read a whole number and a unit, such as `24h`, `2d`, `90m` or `30s`.

    Raises:
        ValueError: it is none, or longer than any clock can tell.
    """
    number = read_integer(text[:-1])
    if number is None or text[-1:] not in _UNITS:
        raise ValueError("a duration is a whole number and d, h, m or s, such as 24h")
    try:
        return timedelta(seconds=number * _UNITS[text[-1]])
    except OverflowError:
        raise ValueError("that is longer than any clock can tell") from None


def problems(program: Program) -> list[str]:
    """Name what does not fit together, although each value can be read; empty when all is well."""
    found = []
    lead, maintainer = program.lead_github_login, program.maintainer_github_login
    if not program.auto_approve and not maintainer:
        found.append(
            "auto_approve is false, and maintainer_github_login is not set: nobody could approve anything"
        )
    if not program.auto_approve and lead and maintainer and lead.casefold() == maintainer.casefold():
        found.append(
            f"auto_approve is false, and lead_github_login and maintainer_github_login are both {lead}: "
            "review by a human needs two GitHub accounts"
        )
    tolerance = program.metric_tolerance
    if tolerance is not None and not (math.isfinite(tolerance) and tolerance >= 0):
        found.append(f"metric_tolerance {tolerance} is not a number from 0 up")
    found += [
        f"{key} is 0: every claim would expire at once"
        for key in ("assignment_timeout", "review_timeout")
        if not getattr(program, key)
    ]
    return found


def _login(text: str) -> str | None:
    return None if text == UNSET else text


def _integer(text: str) -> int:
    number = read_integer(text)
    if number is None:
        raise ValueError("that is not a whole number from 0 up")
    return number


def _number(text: str) -> float:
    number = read_float(text)
    if number is None:
        raise ValueError("that is not a number")
    return number


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("it is either true or false")
    return text == "true"


def _direction(text: str) -> str:
    if text not in DIRECTIONS:
        raise ValueError(f"it is either {' or '.join(DIRECTIONS)}")
    return text


_READERS: dict[str, Callable[[str], object]] = {
    "required_confirmations": _integer,
    "metric_tolerance": _number,
    "metric_direction": _direction,
    "lead_github_login": _login,
    "maintainer_github_login": _login,
    "auto_approve": _flag,
    "assignment_timeout": read_duration,
    "review_timeout": read_duration,
    "min_queue_depth": _integer,
    "max_queue_depth": _integer,
    "cli_version": str,
    "default_branch": str,
}
