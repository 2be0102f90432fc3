"""The screen as a person has it: `piloop watch` in a terminal, and away to an agent's tmux window and back."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import libtmux
import pytest

from herdr.mux.server import TmuxServer
from herdr.store.rows import Agent

PILOOP = (sys.executable, "-m", "herdr.cli")


class Terminal:
    """A terminal that a person sits at; it happens to be a tmux of their own, so TMUX is taken away inside."""

    def __init__(self, server: libtmux.Server) -> None:
        self._server = server

    def start(self, cwd: Path, *argv: str) -> None:
        """Run a program in it, and say how it ended."""
        command = f"env -u TMUX -u TMUX_PANE {shlex.join(argv)}; echo ended with $?; exec sleep 600"
        session = self._server.new_session(x=80, y=24, start_directory=cwd, window_command=command)
        self._pane = session.active_pane

    def keys(self, *keys: str) -> None:
        assert self._pane is not None
        for key in keys:
            self._pane.send_keys(key, enter=False)

    @property
    def screen(self) -> str:
        assert self._pane is not None
        return "\n".join(self._pane.capture_pane() or [])

    def sees(self, text: str) -> None:
        deadline = time.monotonic() + 40
        while text not in (screen := self.screen):
            assert time.monotonic() < deadline, f"waited for {text!r}:\n{screen}"
            time.sleep(0.05)

    def sees_no_more(self, text: str) -> None:
        deadline = time.monotonic() + 40
        while text in (screen := self.screen):
            assert time.monotonic() < deadline, f"waited until {text!r} is gone:\n{screen}"
            time.sleep(0.05)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    # Without it tmux writes `_` for every character that is not ASCII.
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    server = libtmux.Server(socket_name="person", config_file="/dev/null")
    yield Terminal(server)
    server.kill()


@pytest.fixture
def window(full: Any) -> Iterator[Callable[..., None]]:
    """`window(2, "sh", "-c", …)` gives worker#2 a window in the project's session that runs a program."""
    server = TmuxServer(full.home.socket_name, full.home.tmux_conf, os.environ)
    server.ensure()
    server.ensure_session("tiny", full.root, 80, 24)
    (session,) = server.model().sessions

    def open_it(agent: int, *argv: str) -> None:
        window = session.new_window(f"worker-{agent}", window_shell=shlex.join(argv))
        full.set(Agent, agent, session=session.session_id, window=window.window_id)

    yield open_it
    server.kill()


def test_a_person_watches_attaches_comes_back_and_quits(full: Any, terminal: Terminal, window: Any) -> None:
    window(1, "sh", "-c", "echo another window; exec sleep 600")
    window(2, "sh", "-c", "echo the agent at work; exec sleep 600")
    terminal.start(full.root, *PILOOP, "watch")
    terminal.sees("3 Ideas")
    terminal.sees("blocked (permission)")
    terminal.keys("2", "j", "t")
    terminal.sees("the agent at work")
    terminal.keys("C-b", "d")
    terminal.sees("back from worker#2")
    full.idea("Filed meanwhile", "seed", priority=0)
    terminal.sees("Filed meanwhile")
    full.set(Agent, 2, state="ended")
    # Which row a key acts on is said by what is on the screen, so it has to be there first.
    terminal.sees_no_more("worker#2 blocked")
    terminal.keys("2", "Home", "j", "t")
    terminal.sees("worker#3 has no window any more")
    terminal.keys("q")
    terminal.sees("ended with 0")
    # Nothing of the screen is left on the terminal.
    assert not re.search("[│╭]|3 Ideas", terminal.screen)


def test_inside_a_tmux_of_ones_own_the_command_is_shown(full: Any, terminal: Terminal, window: Any) -> None:
    window(1, "sh", "-c", "exec sleep 600")
    terminal.start(full.root, "env", "TMUX=/tmp/other,1,0", *PILOOP, "watch", "tiny")
    terminal.sees("worker#1")
    terminal.keys("2", "t")
    terminal.sees("this is a tmux of your own; outside of it: herdr attach worker#1")


def test_without_a_terminal_or_a_project_nothing_is_drawn(full: Any) -> None:
    def typed(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PILOOP, "watch", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=full.root,
            stdin=subprocess.DEVNULL,
        )

    done = typed()
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "error: piloop watch needs a terminal\nfix: piloop status\n"
    done = typed("other")
    assert done.returncode == 2
    assert "no project is called 'other' (registered: tiny)" in done.stderr


def test_an_agent_may_not_watch(full: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERDR_MAILBOX", "/tmp/nowhere")
    monkeypatch.setenv("PILOOP_ACTOR", "worker#1")
    done = subprocess.run([*PILOOP, "watch"], capture_output=True, text=True, check=False, cwd=full.root)
    assert "worker#1 may not use watch" in done.stderr


@pytest.mark.parametrize("command", [["status"], ["idea", "list"], ["--help"], ["watch", "--help"]])
def test_no_other_command_imports_textual(full: Any, command: list[str]) -> None:
    code = (
        "import sys; from herdr.cli.main import run; run('piloop', sys.argv[1:]);"
        " sys.exit(sorted(m for m in sys.modules if m.split('.')[0] in ('textual', 'rich')) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=False, cwd=full.root
    )
    assert (done.returncode, done.stderr) == (0, "")
