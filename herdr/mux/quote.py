"""Text on its way to tmux: quoted for its parser, escaped for its formats, cleaned for the program behind it."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from herdr.mux.errors import TmuxError

#: A window's name or title is cut to this many characters: it is a label, and tmux limits formats to 8 kB.
LABEL_LENGTH = 100

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 ")
_QUOTED = tuple(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in range(256))

_STRING_SEQUENCE = r"(?:\x1b[P\]X^_]|[\x90\x9d\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
_CONTROL_SEQUENCE = r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
_SHORT_SEQUENCE = r"\x1b[ -/]*[0-~]?"
_SEQUENCES = re.compile(f"{_STRING_SEQUENCE}|{_CONTROL_SEQUENCE}|{_SHORT_SEQUENCE}")
_LINE_ENDS = re.compile("\r\n|[\r\n\v\f\x85\u2028\u2029]")
#: Variation selectors beyond those of emoji: invisible, and able to carry a hidden text.
_HIDDEN = re.compile("[\ufe00-\ufe0e\U000e0100-\U000e01ef]")
_MENTION = re.compile(r"(?<!\w)@(?=\S)")
_FORMAT_RUN = re.compile(r"#+(?![\[#])")


def quote(value: str) -> str:
    r"""Write a value so that tmux's command parser gives back exactly its bytes.

    Everything but ASCII letters, digits and spaces becomes `\ooo`, so nothing is left for tmux to expand, split
    or end a command at.

    Raises:
        TmuxError: the value holds a NUL byte, which ends a C string.
    """
    if "\0" in value:
        raise TmuxError("a value for tmux holds a NUL byte", fix="remove the NUL byte")
    return '"' + "".join([_QUOTED[byte] for byte in value.encode("utf-8", "surrogateescape")]) + '"'


def escape_format(value: str) -> str:
    """Double each `#`, for the values that tmux expands as formats, such as a window's name or directory.

    A run of `#` before `[` stays as it is: tmux keeps it for the status line, where it can only change colours.
    """
    return _FORMAT_RUN.sub(lambda run: run[0] * 2, value)


def label(text: str) -> str:
    """Make a text fit to be a window's name or title: one line of at most `LABEL_LENGTH` characters."""
    return clean(text, newline="space", disarm="", disarm_at=False)[:LABEL_LENGTH].rstrip()


def clean(text: str, *, newline: Literal["keep", "space"], disarm: str, disarm_at: bool) -> str:
    r"""Take out of a text what would act on a terminal or a harness instead of being read.

    Escape sequences, control, bidi and zero-width characters go; a tab becomes four spaces. A text that ends in a
    backslash gets a space after it, because some input lines read backslash and Enter as a newline. Cleaning
    twice changes nothing more.

    Args:
        text: what somebody wrote.
        newline: `keep` lines, or join them with a `space`.
        disarm: characters that get one space before them at the start of the text, or of each line kept: a
            program that does not know bracketed paste takes each line as a message of its own.
        disarm_at: put a space between `@` and a path, so that no file is read; `a@b` stays as it is.
    """
    text = _SEQUENCES.sub("", text)
    text = _LINE_ENDS.sub("\n", text).replace("\t", "    ")
    text = "".join(
        [char for char in text if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs")]
    )
    text = _HIDDEN.sub("", text)
    if disarm_at:
        text = _MENTION.sub("@ ", text)
    if newline == "space":
        text = re.sub(r"\s*\n\s*", " ", text)
    lines = text.strip().split("\n")
    text = "\n".join([_disarmed(line.rstrip(), disarm) for line in lines])
    return text + " " if text.endswith("\\") else text


def _disarmed(line: str, disarm: str) -> str:
    return f" {line}" if line[:1] and line[0] in disarm else line
