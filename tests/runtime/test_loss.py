"""How an agent was lost: its wrapper alone, with what had started it, or with the machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from herdr.runtime.api import AgentProcess
from herdr.runtime.launchfile import read_process, wrapper_argv, write_launch
from herdr.runtime.loss import lost_how
from herdr.runtime.processes import alive

pytestmark = pytest.mark.anyio

#: Starts what it is told to, as a tmux server does, and stays.
SERVER = "import subprocess, sys; subprocess.Popen(sys.argv[1:], start_new_session=True).wait(); input()"


@pytest.fixture
def server(
    tmp_path: Path, request_for: Callable[..., Any], wait_for: Callable[..., None]
) -> Iterator[tuple[subprocess.Popen[bytes], AgentProcess]]:
    request = request_for(tmp_path, "sleep", "100")
    write_launch(request)
    started = subprocess.Popen([sys.executable, "-c", SERVER, *wrapper_argv(request)], stdin=subprocess.PIPE)
    wait_for(lambda: read_process(tmp_path / "state"), "pid.json")
    agent = read_process(tmp_path / "state")
    assert agent is not None
    yield started, agent
    started.kill()
    with started:  # closes its input, and waits
        pass
    for process in (agent.wrapper, agent.child):
        if alive(process):
            os.kill(process.pid, signal.SIGKILL)


async def test_a_wrapper_that_was_killed_alone(server: Any, tmp_path: Path) -> None:
    os.kill(server[1].wrapper.pid, signal.SIGKILL)
    assert await lost_how(tmp_path / "state") == "wrapper_killed"


async def test_a_wrapper_that_went_with_its_server(server: Any, tmp_path: Path) -> None:
    os.kill(server[1].wrapper.pid, signal.SIGKILL)
    server[0].kill()
    assert await lost_how(tmp_path / "state") == "server_gone"


async def test_a_wrapper_that_outlived_what_started_it_and_was_seen_alive(server: Any, tmp_path: Path) -> None:
    server[0].kill()
    server[0].wait()
    os.kill(server[1].wrapper.pid, signal.SIGKILL)
    assert await lost_how(tmp_path / "state", seen_alive=True) == "wrapper_killed"
    assert await lost_how(tmp_path / "state") == "server_gone"


async def test_a_machine_that_was_started_anew(server: Any, tmp_path: Path) -> None:
    path = tmp_path / "state" / "pid.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot": "another"}))
    assert await lost_how(tmp_path / "state", seen_alive=True) == "rebooted"


async def test_what_is_not_on_record_is_nobodys_fault(server: Any, tmp_path: Path) -> None:
    assert await lost_how(tmp_path / "nothing") == "server_gone"
    path = tmp_path / "state" / "pid.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "parent": None}))
    assert await lost_how(tmp_path / "state") == "server_gone"
