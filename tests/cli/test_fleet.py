"""The fleet from `up` to `down`, with a real daemon, real tmux and a scripted agent."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from herdr.control.sessions import tmux_of
from herdr.daemon.lock import daemon_pid
from herdr.home import Home
from herdr.store.connection import open_store
from herdr.store.rows import Project, get


@pytest.fixture
def home() -> Iterator[Home]:
    """The test's home; a daemon that a failed test left is ended."""
    here = Home.from_environ(os.environ)
    yield here
    pid = daemon_pid(here)
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: daemon_pid(here) is None)


def wait_until(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.05)
    return value


def test_a_fleet_is_started_watched_steered_and_stopped(
    root: Path, home: Home, typed: Any, piloop: Callable[..., str]
) -> None:
    # up registers, starts, and tells how to go on.
    up = typed("herdr", "up", "-d")
    assert up.code == 0, up.err
    for part in ("registered tiny: size 8", "the daemon runs (pid", "herdr attach tiny", "herdr down"):
        assert part in up.out
    pid = daemon_pid(home)
    again = typed("herdr", "up", "-d")
    assert (again.code, f"already running (pid {pid})" in again.out) == (0, True)
    assert f"already runs for {home.root}" in typed("herdr", "up", "--foreground").err

    # An agent works, is looked at and steered.
    piloop("idea", "add", "#(touch pwned)")

    def live() -> list[dict[str, Any]]:
        agents = json.loads(piloop("status", "--json"))["projects"][0]["agents"]
        return [a for a in agents if a["agent"]["state"] != "starting"]

    assert wait_until(live)[0]["title"] == "#(touch pwned)"
    assert "worker#1 received it" in piloop("prompt", "worker#1", "go on")
    wait_until(lambda: "received: go on" in typed("herdr", "logs", "worker#1").out)
    attach = shlex.split(typed("herdr", "attach", "worker#1").out)
    assert attach[0] == "tmux"
    assert "attach-session" in attach
    assert typed("herdr", "attach").out == typed("herdr", "attach", "tiny").out

    # down leaves it running, and the next daemon takes it back.
    assert "window" not in typed("herdr", "clean", "--dry-run").out
    down = typed("herdr", "down")
    assert (down.code, "1 agent goes on, and" in down.out) == (0, True)
    assert "no daemon runs" in typed("herdr", "down").out
    assert "only a daemon can end them" in typed("herdr", "down", "--kill-agents").err
    assert typed("herdr", "up", "-d").code == 0
    assert "received" in piloop("prompt", "1", "finish")
    wait_until(lambda: json.loads(piloop("run", "show", "1", "--json"))["run"]["settled_at"])
    shown = piloop("run", "show", "1")
    assert "finding by worker#1" in shown
    assert "the end" in shown
    assert "worker#1 has ended" in typed("piloop", "prompt", "1", "x").err
    assert "received: finish" in typed("herdr", "logs", "worker#1").out
    assert "daemon.started" in piloop("events")

    # What it left can go.
    cleaned = typed("herdr", "clean", "--dry-run").out
    assert "would remove: window worker-1 of tiny" in cleaned
    assert "removed: window worker-1 of tiny" in typed("herdr", "clean").out
    assert "worker-1" not in typed("herdr", "clean", "--dry-run").out
    assert "has no window any more" in typed("herdr", "attach", "worker#1").err

    end = typed("herdr", "down", "--kill-agents")
    assert (end.code, daemon_pid(home)) == (0, None)
    assert not list(root.rglob("pwned"))


def test_up_attaches_in_a_terminal(root: Path, home: Home, typed: Any) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", "from herdr.cli.main import herdr; herdr()", "up"]
    environ = {**os.environ, "TERM": "xterm-256color"}
    tmux = ["tmux", "-L", home.socket_name]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environ) as terminal:
        os.close(theirs)

        def clients() -> str:
            asked = [*tmux, "list-clients", "-F", "#{client_control_mode} #{client_session}"]
            return subprocess.run(asked, capture_output=True, text=True, check=False).stdout

        wait_until(lambda: "0 tiny" in clients())
        terminal.terminate()
        terminal.wait(10)
    os.close(ours)
    assert typed("herdr", "down").code == 0


def test_kill_agents_ends_them(root: Path, home: Home, typed: Any, piloop: Callable[..., str]) -> None:
    assert typed("herdr", "up", "-d").code == 0
    piloop("idea", "add", "Never ends")
    wait_until(lambda: json.loads(piloop("run", "list", "--json", "--state", "running")))
    wait_until(lambda: "worker#1" in piloop("status"))
    end = typed("herdr", "down", "--kill-agents")
    assert (end.code, end.out) == (0, "the daemon has ended\n")
    status = json.loads(piloop("status", "--json"))
    assert (status["daemon"]["running"], status["projects"][0]["agents"]) == (False, [])
    asked = ["tmux", "-L", home.socket_name, "list-sessions"]
    assert subprocess.run(asked, capture_output=True, check=False).returncode != 0


def test_kill_agents_leaves_a_server_that_a_person_uses(project: Path, home: Home, typed: Any) -> None:
    store = open_store(home.database, mode="read", actor="human")
    server = tmux_of(home, get(store, Project, 1))
    store.close()
    server.ensure()
    session = server.ensure_session("tiny", project, 80, 24)
    (pane,) = server.command("new-window", "-d", "-P", "-F", "#{pane_id}", "-t", f"{session.id}:", "-n", "mine")
    wait_until(lambda: "sh" in server.command("display-message", "-p", "-t", pane, "#{pane_current_command}")[0])
    server.command("send-keys", "-t", pane, "cat", "Enter")
    wait_until(lambda: server.command("display-message", "-p", "-t", pane, "#{pane_current_command}") == ["cat"])
    assert "stays, because cat runs in tiny:mine" in typed("herdr", "down", "--kill-agents").out
    assert server.alive()
    server.command("send-keys", "-t", pane, "C-c")
    wait_until(lambda: server.command("display-message", "-p", "-t", pane, "#{pane_current_command}") != ["cat"])
    assert "stays" not in typed("herdr", "down", "--kill-agents").out
    assert not server.alive()


def test_a_fleet_starts_with_the_last_good_configuration(root: Path, home: Home, typed: Any) -> None:
    assert typed("herdr", "init").code == 0
    (root / "piloop.toml").write_text("broken")
    assert typed("herdr", "up", "-d").code == 0
    wait_until(lambda: "piloop.toml is wrong" in typed("piloop", "status").out)
    assert typed("herdr", "down").code == 0


def test_a_daemon_that_cannot_start_says_why(
    project: Path, home: Home, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("herdr.control.daemon.DAEMON", ("/bin/sh", "-c", "echo error: no luck today; exit 1"))
    done = typed("herdr", "up", "-d")
    assert (done.code, "the daemon did not start: no luck today" in done.err) == (1, True)
    assert str(home.log) in done.err


def test_logs_show_the_end_and_follow(project: Path, home: Home, typed: Any) -> None:
    home.log.write_text("".join(f"line {number}\n" for number in range(200)))
    assert typed("herdr", "logs", "-n", "2").out == "line 198\nline 199\n"
    command = [sys.executable, "-c", "from herdr.cli.main import herdr; herdr()", "logs", "-n", "1", "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "line 199\n"
        with home.log.open("a") as log:
            log.write("fresh\n")
        assert follower.stdout.readline() == "fresh\n"
        follower.terminate()
        follower.wait(10)
