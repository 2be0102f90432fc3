"""A tmux server of its own for each test, with a session, a control client, and programs to type into."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import sys
import termios
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest

from herdr.api import ScreenRules, SendRules
from herdr.mux.capture import capture
from herdr.mux.control import ControlClient
from herdr.mux.keystrokes import Patience, submit
from herdr.mux.screen import Delivery, Screen
from herdr.mux.server import TmuxServer
from herdr.mux.windows import open_window

FAKE_TUI = Path(__file__).parent / "fake_tui.py"
RULES = ScreenRules(
    ready=r"^fake-tui ready",
    busy=r"^working \(esc",
    composer=r"^> ?(?P<text>.*)$",
    placeholder=r"\[Pasted text #\d+ \+\d+ lines\]",
    hint=r'Try ".*',
    dialogs={"approval": (r"^Do you want to run this\?", "permission")},
)
SEND = SendRules(settle=0.15, while_busy=True, newline="keep")
PATIENCE = Patience(look=0.02, seen=2, again=0.3, taken=2.5, proof=0.3)
#: For texts that are not going to arrive.
SHORT_PATIENCE = Patience(look=0.02, seen=0.8, again=0.15, taken=0.8, proof=0.3)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def until(condition: Callable[[], Awaitable[Any]], what: str = "") -> Any:
    """Wait for a condition to hold and give what it returned."""
    with anyio.move_on_after(15):
        while True:
            value = await condition()
            if value:
                return value
            await anyio.sleep(0.02)
    raise AssertionError(f"never came true: {what or condition}")


class Program:
    """A program in a pane, what it logged, and how to type into it."""

    def __init__(self, mux: Mux, window: str, pane: str, log: Path) -> None:
        self.mux, self.window, self.pane, self.log = mux, window, pane, log

    @property
    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    @property
    def messages(self) -> list[str]:
        return [entry["message"] for entry in self.entries if "message" in entry]

    async def screen(self) -> Screen:
        screen = await capture(self.mux.client, self.pane)
        assert screen is not None
        return screen

    async def shows(self, text: str) -> None:
        async def shown() -> bool:
            return text in (await self.screen()).text

        await until(shown, f"{text!r} on the screen")

    async def submit(self, text: str, **options: Any) -> Delivery:
        settings = {"screen": RULES, "send": SEND, "patience": PATIENCE} | options
        return await submit(self.mux.client, self.pane, text, **settings)


class Mux:
    """A server, a session and its control client."""

    def __init__(self, server: TmuxServer, client: ControlClient, root: Path) -> None:
        self.server, self.client, self.root = server, client, root
        self.until = until
        self.rules, self.send, self.patience, self.short = RULES, SEND, PATIENCE, SHORT_PATIENCE
        self._count = 0

    async def open(self, *argv: str, name: str = "agent", width: int = 200, height: int = 50) -> Program:
        self._count += 1
        log = self.root / f"log-{self._count}.jsonl"
        words = [word.replace("LOG", str(log)) for word in argv]
        window, pane = await open_window(self.client, name, self.root, words, width=width, height=height)
        return Program(self, window, pane, log)

    async def tui(self, *switches: str, **options: Any) -> Program:
        program = await self.open(sys.executable, "-I", "-S", str(FAKE_TUI), "--log", "LOG", *switches, **options)
        await program.shows("fake-tui ready")
        return program


@pytest.fixture
def server(isolated: Path, tmp_path: Path) -> Iterator[TmuxServer]:
    server = TmuxServer("herdr-test", tmp_path / "home" / "tmux.conf", os.environ)
    server.ensure()
    yield server
    server.kill()


@pytest.fixture
async def mux(server: TmuxServer, tmp_path: Path) -> AsyncIterator[Mux]:
    session = server.ensure_session("project", tmp_path, 200, 50)
    client = await ControlClient.open(server.argv, session.id, server.environ)
    yield Mux(server, client, tmp_path)
    await client.aclose()


class Terminal:
    """A person's terminal of a given size, with a program in it."""

    def __init__(self, argv: list[str], environ: dict[str, str], columns: int, rows: int) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvpe(argv[0], argv, environ | {"TERM": "xterm-256color"})
        os.set_blocking(self.fd, False)
        self._seen = b""

    def seen(self) -> bytes:
        """Read what the program has drawn so far."""
        with suppress(OSError):
            while data := os.read(self.fd, 65536):
                self._seen += data
        return self._seen

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_terminal(argv: list[str], environ: dict[str, str], columns: int = 80, rows: int = 24) -> Terminal:
        opened.append(Terminal(list(argv), dict(environ), columns, rows))
        return opened[-1]

    yield open_terminal
    for one in opened:
        one.close()
