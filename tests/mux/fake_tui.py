"""A stand-in for the terminal programs that herdr types into, with a switch for each of their traits.

What it took as a message, and every key that hit a dialog, goes to `--log` as JSON lines: the truth that the
screen may hide. It draws its input line on a row that starts with `> `.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import termios
import time
import tty
from pathlib import Path

PASTE_START, PASTE_END = b"\x1b[200~", b"\x1b[201~"


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser()
    options.add_argument("--log", required=True)
    options.add_argument(
        "--lines", action="store_true", help="no screen of its own: reads lines, as a script does"
    )
    options.add_argument(
        "--answers", type=int, default=-1, help="with --lines: says that it read only this often"
    )
    options.add_argument("--drop-head", type=int, default=0, help="bytes of the first paste lost while mounting")
    options.add_argument("--drop-tail", type=int, default=0, help="bytes lost at the end of each paste")
    options.add_argument("--debounce", type=float, default=0, help="seconds after a paste in which Enter is lost")
    options.add_argument("--swallow", type=int, default=0, help="how many Enters are lost")
    options.add_argument("--newline-enters", type=int, default=0, help="how many Enters become newlines")
    options.add_argument("--fold", type=int, default=0, help="pastes longer than this show as a placeholder")
    options.add_argument("--hint", default="", help="grey text in the empty input line")
    options.add_argument("--draft", default="", help="what stands in the input line at the start")
    options.add_argument("--busy", type=float, default=0, help="seconds of work after each message")
    options.add_argument("--start-busy", action="store_true", help="works until it is told SIGUSR1, never idle")
    options.add_argument("--dialog", choices=["start", "paste", "message"], help="when a dialog opens")
    options.add_argument("--hide", action="store_true", help="shows no input line while it works")
    options.add_argument("--spinner", action="store_true", help="turns a spinner in its title")
    options.add_argument("--alternate", action="store_true", help="draws on the alternate screen")
    options.add_argument("--unbracketed", action="store_true", help="does not ask for bracketed paste")
    options.add_argument("--die-on", default="", help="exits with status 3 at a message that holds this")
    options.add_argument("--echo-late", type=float, default=0, help="seconds until typed text shows")
    return options.parse_args()


class Tui:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.composer = options.draft
        self.folded = 0
        self.messages: list[str] = []
        self.dialog = options.dialog == "start"
        self.pasting = False
        self.pending = b""
        self.last_paste = 0.0
        self.busy_until = float("inf") if options.start_busy else 0.0
        self.drawn = ""
        self.show_from = 0.0

    def log(self, **entry: object) -> None:
        with Path(self.options.log).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    @property
    def busy(self) -> bool:
        return time.monotonic() < self.busy_until

    def feed(self, data: bytes) -> None:
        self.pending += data
        while self.pending:
            if self.pasting:
                text, found, rest = self.pending.partition(PASTE_END)
                if not found:
                    return
                self.pasting, self.pending = False, rest
                self.paste(text)
            elif self.pending.startswith(PASTE_START):
                self.pasting, self.pending = True, self.pending[len(PASTE_START) :]
            elif self.pending.startswith(b"\x1b") and PASTE_START.startswith(self.pending):
                return
            elif self.options.unbracketed and self.pending[:1] != b"\r":
                text, enter, rest = self.pending.partition(b"\r")
                self.pending = enter + rest
                self.paste(text)
            else:
                key, self.pending = self.pending[:1], self.pending[1:]
                self.key(key)

    def paste(self, data: bytes) -> None:
        if self.dialog:
            self.log(hotkeys=data.decode("utf-8", "replace"))
            return
        data = data[self.options.drop_head :]
        self.options.drop_head = 0
        if self.options.drop_tail:
            data = data[: -self.options.drop_tail]
        text = data.decode("utf-8", "replace")
        self.composer += text
        self.last_paste = time.monotonic()
        self.show_from = self.last_paste + self.options.echo_late
        if self.options.fold and len(text) > self.options.fold:
            self.folded += 1
        if self.options.dialog == "paste":
            self.dialog = True

    def key(self, key: bytes) -> None:
        if self.dialog:
            self.log(**({"approved": True} if key == b"\r" else {"hotkeys": key.decode("latin-1")}))
            self.dialog = key != b"\r"
        elif key == b"\r":
            self.enter()
        elif key == b"\x15":
            self.composer = ""
        elif key == b"\n" or key >= b" ":
            self.composer += key.decode("latin-1")

    def enter(self) -> None:
        if self.options.swallow:
            self.options.swallow -= 1
        elif self.options.newline_enters:
            self.options.newline_enters -= 1
            self.composer += "\n"
        elif time.monotonic() - self.last_paste < self.options.debounce:
            return
        elif self.composer.strip():
            self.take(self.composer)

    def take(self, text: str) -> None:
        self.composer, self.folded = "", 0
        self.messages.append(text)
        self.log(message=text, queued=self.busy)
        if self.options.die_on and self.options.die_on in text:
            raise SystemExit(3)
        if self.options.dialog == "message":
            self.dialog = True
        if not self.options.start_busy:
            self.busy_until = time.monotonic() + self.options.busy

    def draw(self) -> None:
        size = os.get_terminal_size()
        rows = [f"* {message.splitlines()[0][: size.columns - 4]}" for message in self.messages[-3:]]
        if self.busy:
            rows.append("working (esc to interrupt)")
        if self.dialog:
            rows += ["Do you want to run this? touch approved", "  1. Yes", "  2. No"]
        elif not (self.busy and self.options.hide):
            rows += ["-" * 20, *self.composer_rows(size.columns), "-" * 20]
        rows.append("fake-tui ready")
        screen = "\r\n".join(rows)
        if screen != self.drawn:
            self.drawn = screen
            os.write(1, b"\x1b[H\x1b[2J" + screen.encode())
        if self.options.spinner:
            mark = "|/-\\"[int(time.monotonic() * 10) % 4] if self.busy else "="
            os.write(1, f"\x1b]2;{mark} fake\x07".encode())

    def composer_rows(self, columns: int) -> list[str]:
        shown = self.composer if time.monotonic() >= self.show_from else ""
        if self.folded:
            shown = f"[Pasted text #{self.folded} +{self.composer.count(chr(10))} lines]"
        if not shown:
            return [f"> {self.options.hint}"]
        width = columns - 4
        rows = [line[at : at + width] for line in shown.split("\n") for at in range(0, len(line) or 1, width)]
        return [("> " if number == 0 else "  ") + row for number, row in enumerate(rows)]

    def run(self) -> None:
        tty.setraw(0)
        os.write(1, b"" if self.options.unbracketed else b"\x1b[?2004h")
        if self.options.alternate:
            os.write(1, b"\x1b[?1049h")
        while True:
            self.draw()
            if select.select([0], [], [], 0.03)[0]:
                data = os.read(0, 65536)
                if not data:
                    return
                self.feed(data)


def read_lines(tui: Tui) -> None:
    print("fake-tui ready", flush=True)
    for line in sys.stdin:
        text = line.rstrip("\n")
        tui.log(message=text)
        if tui.options.die_on and tui.options.die_on in text:
            raise SystemExit(3)
        if tui.options.answers:
            tui.options.answers -= 1
            print(f"received: {text}", flush=True)


def main() -> None:
    tui = Tui(arguments())
    if tui.options.lines:
        read_lines(tui)
        return
    before = termios.tcgetattr(0)
    try:
        tui.run()
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)


if __name__ == "__main__":
    main()
