"""A wrapper as a real process in a terminal of its own, and how to wait for what it does."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from herdr.runtime import wrapper
from herdr.runtime.api import AgentProcess, Exit, LaunchRequest
from herdr.runtime.launchfile import read_exit, read_process, write_launch
from herdr.runtime.processes import alive

DEADLINE = 15.0
SETSID = str(shutil.which("setsid"))
ARGV = [sys.executable, "-I", "-S", "-X", "utf8", wrapper.__file__]


def _wait_for(condition: Callable[[], object], what: str = "it") -> None:
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.01)


def _request_for(tmp_path: Path, *argv: str, agent_id: int = 1, **changes: object) -> LaunchRequest:
    fields: dict[str, object] = {
        "agent_id": agent_id,
        "name": f"agent-{agent_id}",
        "title": "an agent",
        "cwd": tmp_path,
        "argv": argv,
        "env": {"PATH": os.environ["PATH"]},
        "clear": (),
        "state_dir": tmp_path / "state",
    }
    return LaunchRequest(**(fields | changes))  # type: ignore[arg-type]


class Started:
    """A wrapper in a terminal of its own, as tmux would start it."""

    def __init__(self, state_dir: Path, agent_id: int, env: dict[str, str]) -> None:
        self.state_dir, self.output = state_dir, b""
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [SETSID, "--ctty", *ARGV, "--agent", str(agent_id), "--dir", str(state_dir)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={"PATH": os.environ["PATH"], **env},
        )
        os.close(slave)

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def read(self) -> bytes:
        while select.select([self.master], [], [], 0)[0]:
            try:
                self.output += os.read(self.master, 65536)
            except OSError:
                break
        return self.output

    def shows(self, text: bytes) -> None:
        _wait_for(lambda: text in self.read(), repr(text))

    def agent(self) -> AgentProcess:
        _wait_for(lambda: read_process(self.state_dir), "pid.json")
        found = read_process(self.state_dir)
        assert found is not None
        return found

    def exit(self) -> Exit:
        self.process.wait(DEADLINE)
        found = read_exit(self.state_dir)
        assert found is not None
        return found

    def close(self) -> None:
        found = read_process(self.state_dir)
        if found is not None and alive(found.child):
            os.kill(found.child.pid, signal.SIGKILL)
        if self.process.poll() is None and found is None:
            self.process.kill()
        self.process.wait(DEADLINE)
        os.close(self.master)


@pytest.fixture
def wait_for() -> Callable[..., None]:
    return _wait_for


@pytest.fixture
def request_for() -> Callable[..., LaunchRequest]:
    return _request_for


@pytest.fixture
def start() -> Iterator[Callable[..., Started]]:
    running: list[Started] = []

    def launch(request: LaunchRequest, **env: str) -> Started:
        write_launch(request)
        running.append(Started(request.state_dir, request.agent_id, {"TERM": "tmux-256color", **env}))
        return running[-1]

    yield launch
    for one in running:
        one.close()
