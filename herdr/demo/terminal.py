"""The scripted agent's end of its pane: lines scroll over a line of status and `> `, which takes messages."""

from __future__ import annotations

import os
import select
import shutil
import sys
import termios
import time
import tty
from types import TracebackType

PROMPT = "> "
#: The status by which herdr knows that it is busy; see piloop.toml.
WORKING = "* working"
PASTE_MARKS = ("\x1b[200~", "\x1b[201~")


class Terminal:
    """Prints lines above a prompt; what is typed there and ended by Enter lands in `messages`.

    Echo is ours, not the kernel's, so that a draft survives the lines printed meanwhile.
    """

    def __init__(self, title: str) -> None:
        self.messages: list[str] = []
        self._title = title
        self._status = WORKING
        self._draft = ""
        self._partial = b""
        self._open = True
        self._saved: list[int | list[bytes | int]] | None = None

    def __enter__(self) -> Terminal:
        if sys.stdin.isatty():
            self._saved = termios.tcgetattr(sys.stdin)
            tty.setcbreak(sys.stdin)
        # A line before anything is erased: what is erased from the first row on goes into tmux's history, and
        # herdr would read it a second time.
        print(self._title)
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._erase()
        sys.stdout.flush()
        if self._saved is not None:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self._saved)

    def say(self, text: str) -> None:
        """Print above the prompt."""
        self._erase()
        print(text)
        self._draw()

    def show(self, status: str) -> None:
        """Change the line above the prompt."""
        self._erase()
        self._status = status
        self._draw()

    def pause(self, seconds: float) -> None:
        """Wait, and take messages meanwhile; the pause is cut short by one."""
        end = time.monotonic() + seconds
        seen = len(self.messages)
        while len(self.messages) == seen and (left := end - time.monotonic()) > 0:
            if not self._open:
                time.sleep(left)
            elif select.select([sys.stdin], [], [], left)[0]:
                self._read()

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), 65536)
        self._open = bool(data)
        self._partial += data
        try:
            text, self._partial = self._partial.decode(), b""
        except UnicodeDecodeError:
            return
        for mark in PASTE_MARKS:
            text = text.replace(mark, "")
        self._erase()
        for character in text:
            self._take(character)
        self._draw()

    def _take(self, character: str) -> None:
        if character in "\r\n":
            if self._draft.strip():
                self.messages.append(self._draft.strip())
                print(f"received: {self.messages[-1]}")
            self._draft = ""
        elif character in "\b\x7f":
            self._draft = self._draft[:-1]
        elif character.isprintable():
            self._draft += character

    def _erase(self) -> None:
        if self._saved is not None:
            rows = 1 + (len(PROMPT + self._draft) - 1) // shutil.get_terminal_size().columns
            sys.stdout.write(f"\r\x1b[{rows}A\x1b[J")

    def _draw(self) -> None:
        if self._saved is not None:
            # A status is short, so it is one row however narrow the pane is.
            sys.stdout.write(f"{self._status}\n{PROMPT}{self._draft}")
        sys.stdout.flush()
