"""Numbers, times and white space as every node must read and write them, the existing ones included.

Python's own `int`, `float` and `strip` take more than the existing tool does (`1_2`, other digits, other spaces),
and two readers that disagree on one value disagree on the whole project.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone

SPACES = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters with Unicode's White_Space property."""

LARGEST = 2**64 - 1

_INTEGER = re.compile(r"\+?[0-9]{1,400}")
_FLOAT = re.compile(
    r"[+-]?(?:inf|infinity|nan|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)", re.IGNORECASE | re.ASCII
)
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}):([0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def trim(text: str) -> str:
    """Cut white space off both ends."""
    return text.strip(SPACES)


def lines(text: str) -> list[str]:
    """Split at line feeds only: no other character ends a line of the protocol."""
    return text.split("\n")


def read_integer(text: str) -> int | None:
    """Read an unsigned integer of 64 bits; None when it is none."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number <= LARGEST else None


def read_float(text: str) -> float | None:
    """Read a number, `inf` and `nan` included; None when it is none."""
    return float(text) if _FLOAT.fullmatch(text) else None


def show_metric(value: float) -> str:
    """Write a metric with four decimals, as comments and results.tsv have it."""
    return "NaN" if math.isnan(value) else format(value, ".4f")


def show_exactly(value: float) -> str:
    """Write a number in the fewest characters that read back as the same one."""
    return "NaN" if math.isnan(value) else repr(value)


def fits_metric(value: float) -> bool:
    """Whether four decimals say all of it."""
    return math.isnan(value) or float(show_metric(value)) == value


def read_time(text: str) -> str | None:
    """Read an RFC 3339 time and return it in UTC as `2026-04-06T14:30:00.250Z`; None when it is none.

    The fraction is kept to nine digits and written with none, three, six or nine of them, as everywhere else.
    """
    match = _TIME.fullmatch(text)
    if not match:
        return None
    day, minute, second, fraction, offset = match.groups()
    leap = second == "60"
    try:
        moment = datetime.fromisoformat(f"{day}T{minute}:{'59' if leap else second}+00:00")
        moment -= _offset(offset)
    except (ValueError, OverflowError):
        return None
    nanos = (fraction or "")[:9].ljust(9, "0")
    digits = next(n for n in (0, 3, 6, 9) if set(nanos[n:]) <= {"0"})
    shown = moment.strftime("%Y-%m-%dT%H:%M:").rjust(17, "0") + ("60" if leap else moment.strftime("%S"))
    return shown + (f".{nanos[:digits]}" if digits else "") + "Z"


def show_time(text: str) -> str:
    """Write a time that `read_time` returned as the existing tool's writer does, with `+00:00` for UTC."""
    return text.removesuffix("Z") + "+00:00"


def time_text(moment: datetime) -> str:
    """Write an aware datetime in the form that `read_time` returns.

    Raises:
        ValueError: it has no time zone.
    """
    known = read_time(moment.isoformat())
    if known is None:
        raise ValueError(f"not an aware time: {moment!r}")
    return known


def as_time(text: str) -> datetime:
    """Turn what `read_time` returned into a datetime, to the microsecond.

    Raises:
        ValueError: it is no time.
    """
    known = read_time(text)
    if known is None:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    head, _, fraction = known.removesuffix("Z").partition(".")
    leap = head.endswith(":60")
    moment = datetime.fromisoformat(head[:-2] + "59" if leap else head).replace(tzinfo=timezone.utc)
    return moment + timedelta(
        seconds=1 if leap else 0, microseconds=int(fraction[:6].ljust(6, "0")) if fraction else 0
    )


def _offset(text: str) -> timedelta:
    if text in "Zz":
        return timedelta()
    hours, minutes = int(text[1:3]), int(text[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(text)
    delta = timedelta(hours=hours, minutes=minutes)
    return -delta if text[0] == "-" else delta
