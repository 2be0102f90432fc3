"""A stand-in for an agent's terminal program: an input line, a shell behind `!`, commands behind `/`, and menus.

Whatever it took as a message, gave to its shell, took as a command or as a key of a menu goes to its log as JSON
lines, in order: the truth that its screen may hide. Every so many messages a menu opens for a moment, and takes
any key as a choice. It runs by path, on the standard library alone.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
import tty
from pathlib import Path

LOG, MENU_EVERY = Path(sys.argv[1]), int(sys.argv[2])
MENU_SECONDS = 0.6
PASTE = re.compile(rb"\x1b\[200~(.*?)\x1b\[201~", re.DOTALL)
#: Shown of a message that was taken; a rule of the harness reads it.
TAKEN = "taken: "


class Composer:
    def __init__(self) -> None:
        self.line = ""
        self.pending = b""
        self.taken: list[str] = []
        self.menu_until = 0.0
        self.drawn = ""

    def log(self, kind: str, text: str) -> None:
        with LOG.open("a", encoding="utf-8") as file:
            file.write(json.dumps([kind, text]) + "\n")

    @property
    def menu(self) -> bool:
        return time.monotonic() < self.menu_until

    def feed(self, data: bytes) -> None:
        self.pending += data
        if self.menu:
            self.log("menu", self.pending.decode("utf-8", "replace"))
            self.pending = b""
        while self.pending:
            paste = PASTE.match(self.pending)
            if paste:
                self.line += paste[1].decode("utf-8", "replace")
                self.pending = self.pending[paste.end() :]
            elif self.pending.startswith(b"\x1b"):
                return
            else:
                key, self.pending = self.pending[:1], self.pending[1:]
                self.key(key)

    def key(self, key: bytes) -> None:
        if key == b"\r":
            self.enter(self.line)
            self.line = ""
        else:
            self.line += key.decode("latin-1")

    def enter(self, text: str) -> None:
        if text.startswith("!"):
            self.log("shell", text)
            subprocess.run(text[1:], shell=True, check=False, capture_output=True)
        elif text.startswith(("/", "#", "@")):
            self.log("command", text)
        else:
            self.log("message", text)
            self.taken.append(text)
            if len(self.taken) % MENU_EVERY == 0:
                self.menu_until = time.monotonic() + MENU_SECONDS

    def draw(self) -> None:
        rows = [TAKEN + text.replace("\n", " ") for text in self.taken[-2:]]
        rows += ["Which one?", " 1. Delete everything", " 2. Push it"] if self.menu else [f"> {self.line}"]
        screen = "\r\n".join(rows)
        if screen != self.drawn:
            self.drawn = screen
            os.write(1, b"\x1b[H\x1b[2J" + screen.encode())

    def run(self) -> None:
        tty.setraw(0)
        os.write(1, b"\x1b[?2004h")
        while True:
            self.draw()
            if select.select([0], [], [], 0.02)[0]:
                data = os.read(0, 65536)
                if not data:
                    return
                self.feed(data)


if __name__ == "__main__":
    Composer().run()
