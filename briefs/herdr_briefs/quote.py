"""How text that others wrote stands in a brief: cleaned, fenced, and cut with a word on how to read the rest."""

from __future__ import annotations

import re

_NEWLINES = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]")
# Controls, bidirectional overrides, zero-width characters, tags and variation selectors: what a terminal acts on,
# or what a person reviewing the text would not see while an agent reads it.
_HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_BACKTICKS = re.compile("`+")
_NOT_A_NAME = re.compile(r"[^\w.,:#/@+-]+")


def size(text: str) -> int:
    """How many bytes the text takes in a file."""
    return len(text.encode())


def clean(text: str) -> str:
    """The text as a person sees it: without escape sequences, control, bidirectional and invisible characters."""
    return _HIDDEN.sub("", _ESCAPES.sub("", _NEWLINES.sub("\n", text)))


def one_line(text: str, length: int) -> str:
    """The cleaned text on one line of at most `length` characters.

    Args:
        text: what somebody wrote, on any number of lines.
        length: characters, at least 1.
    """
    line = " ".join(clean(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def name(text: str) -> str:
    """A short word such as an author or a time, with nothing in it that Markdown would act on."""
    return _NOT_A_NAME.sub("_", one_line(text, 80))


def code(text: str) -> str:
    """A path or a name as inline code."""
    line = one_line(text, 4096)
    ticks = "`" * (_longest_run(line) + 1)
    pad = " " if "`" in line else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(text: str) -> str:
    """The cleaned text as a block that nothing inside it can close."""
    body = clean(text).strip("\n")
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}text\n{body}\n{fence}"


def shorten(text: str, room: int | None, rest: str) -> tuple[str, str]:
    """Cut a text to `room` bytes.

    Args:
        text: the text, which is cleaned first.
        room: bytes; None for all of it.
        rest: how to read all of it, as a sentence without its full stop.

    Returns:
        The text that fits, and one sentence on what was cut, empty when nothing was.
    """
    whole = clean(text)
    total = size(whole)
    if room is None or total <= room:
        return whole, ""
    kept = whole.encode()[:room].decode(errors="ignore")
    return kept, f"(Left out here: the last {total - size(kept):,} of {total:,} bytes. {rest}.)"


def block(text: str, room: int | None, rest: str) -> str:
    """A fenced block of at most about `room` bytes, followed by what was cut; empty for an empty text.

    Args:
        text: what somebody wrote.
        room: bytes of the text itself; None for all of it.
        rest: how to read all of it, as a sentence without its full stop.
    """
    if not clean(text).strip():
        return ""
    kept, cut = shorten(text, room, rest)
    return f"{fenced(kept)}\n\n{cut}".rstrip()


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)
