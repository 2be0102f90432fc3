"""A stand-in for an idle agent: a terminal program with an input line that takes texts at once, and nothing else.

It runs by path, on the standard library alone: `python -S composer.py`.
"""

from __future__ import annotations

import os
import re
import tty

PASTE = re.compile(rb"\x1b\[20[01]~")
#: What its input line looks like, for the harness's rules.
LINE = "^>(?P<text>.*)$"


def main() -> None:
    """Draw what stands in the input line; a message that is entered goes above it."""
    tty.setraw(0)
    os.write(1, b"\x1b[?2004h> ")
    line = b""
    while data := os.read(0, 65536):
        *entered, line = (line + PASTE.sub(b"", data)).split(b"\r")
        for message in entered:
            os.write(1, b"\r\x1b[J* " + message + b"\r\n")
        os.write(1, b"\r\x1b[J> " + line)


if __name__ == "__main__":
    main()
