"""Agents as background processes: started, found again, read, ended, and never typed to."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from herdr.api import ScreenRules, SendRules
from herdr.errors import HerdrError
from herdr.mux.screen import Screen
from herdr.runtime.api import LaunchRequest, Place
from herdr.runtime.background import LOG_FILE, TAIL, BackgroundRuntime, tail_of
from herdr.runtime.ending import end_agent, wait_end
from herdr.runtime.launchfile import read_exit, read_process, revoke_launch, wrapper_argv, write_launch
from herdr.runtime.processes import MARK, alive

Ask = Callable[..., LaunchRequest]
Scenario = Callable[[BackgroundRuntime], Awaitable[None]]


@pytest.fixture
def ask(request_for: Callable[..., LaunchRequest], tmp_path: Path) -> Ask:
    def make(*argv: str, **changes: object) -> LaunchRequest:
        env = {"PATH": os.environ["PATH"], MARK: f"{tmp_path}:1"}
        return request_for(tmp_path, *argv, **{"env": env, **changes})

    return make


def play(scenario: Scenario) -> None:
    async def whole() -> None:
        runtime = BackgroundRuntime()
        try:
            await scenario(runtime)
        finally:
            await runtime.aclose()

    asyncio.run(whole())


async def ended(request: LaunchRequest) -> None:
    process = read_process(request.state_dir)
    assert process is not None
    await asyncio.wait_for(wait_end(process.wrapper), 15)


async def shows(runtime: BackgroundRuntime, place: Place, text: str) -> Screen:
    for _ in range(1500):
        screen = await runtime.screen(place)
        if screen is not None and text in screen.text:
            return screen
        await asyncio.sleep(0.01)
    raise AssertionError(f"never showed {text!r}")


def test_from_launch_to_exit(ask: Ask) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("sh", "-c", "echo hello; echo trouble >&2; read line || echo no input; exit 7")
        place = await runtime.launch(request)
        await ended(request)
        assert await runtime.exists(place)
        screen = await runtime.screen(place)
        assert screen == Screen(text="hello\ntrouble\nno input", dead=True)
        left = read_exit(request.state_dir)
        assert left is not None
        assert left.status == 7
        log = request.state_dir / LOG_FILE
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        await runtime.close(place)
        assert log.exists()

    play(scenario)


def test_it_is_a_group_of_its_own_without_a_terminal_or_anything_of_ours(ask: Ask) -> None:
    code = (
        "import json, os, sys; print(json.dumps({'group': os.getpgrp() == os.getpid(), 'session': os.getsid(0),"
        " 'tty': any(os.isatty(n) for n in (0, 1, 2)), 'files': sorted(os.listdir('/proc/self/fd')),"
        " 'env': dict(os.environ)}))"
    )

    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask(sys.executable, "-I", "-c", code)
        place = await runtime.launch(request)
        await ended(request)
        screen = await runtime.screen(place)
        assert screen is not None
        said = json.loads(screen.text)
        assert said["group"]
        assert not said["tty"]
        assert said["session"] != os.getsid(0)
        assert len(said["files"]) == 4  # the fourth lists the folder
        assert said["env"]["TERM"] == "dumb"
        assert set(said["env"]) <= {"PATH", "PWD", "TERM", MARK, "LC_CTYPE"}

    play(scenario)


def test_a_program_that_is_missing_is_an_exit_with_its_error(ask: Ask) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("/no/such/program")
        place = await runtime.launch(request)
        await ended(request)
        left = read_exit(request.state_dir)
        assert left is not None
        assert left.error == "not_found"
        assert await runtime.exists(place)

    play(scenario)


def test_what_cannot_be_launched_is_refused_and_never_comes_to_life(ask: Ask) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("true")
        (request.state_dir / LOG_FILE).mkdir(parents=True)
        with pytest.raises(HerdrError, match="cannot be started in the background"):
            await runtime.launch(request)
        assert revoke_launch(request.state_dir)
        with pytest.raises(HerdrError, match="launched before"):
            await runtime.launch(request)

    play(scenario)


LATER = """
import asyncio, sys
from pathlib import Path
import msgspec
from herdr.runtime.api import LaunchRequest
from herdr.runtime.background import BackgroundRuntime
request = msgspec.json.decode(sys.argv[1], type=LaunchRequest, dec_hook=lambda kind, value: kind(value))
asyncio.run(BackgroundRuntime().launch(request))
print("launched", flush=True)
sys.stdin.read()
"""


def test_one_that_a_killed_daemon_started_is_found_and_goes_on(ask: Ask, tmp_path: Path) -> None:
    request = ask("sh", "-c", "echo up; until test -e go; do sleep 0.02; done; echo done; exit 5")
    as_json = json.dumps({name: getattr(request, name) for name in request.__struct_fields__}, default=str)
    daemon = subprocess.Popen(
        [sys.executable, "-c", LATER, as_json], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert daemon.stdout is not None
    assert daemon.stdin is not None
    assert daemon.stdout.readline() == b"launched\n"
    daemon.kill()
    daemon.wait()
    daemon.stdin.close()
    daemon.stdout.close()

    async def scenario(runtime: BackgroundRuntime) -> None:
        place = await runtime.find(1, request.state_dir)
        assert place is not None
        await shows(runtime, place, "up")
        (tmp_path / "go").touch()
        await ended(request)
        await shows(runtime, place, "done")
        left = read_exit(request.state_dir)
        assert left is not None
        assert left.status == 5
        assert await runtime.find(1, request.state_dir) == place

    play(scenario)


def test_one_whose_wrapper_is_just_starting_is_waited_for(ask: Ask) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("sleep", "1000")
        write_launch(request)
        wrapper = subprocess.Popen(wrapper_argv(request), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            assert await runtime.find(1, request.state_dir) is not None
            assert read_process(request.state_dir) is not None
        finally:
            assert not await end_agent(request.env[MARK], request.state_dir, grace=0.2)
            wrapper.wait()

    play(scenario)


def test_one_that_went_away_with_its_machine_is_lost_even_if_its_end_was_recorded(ask: Ask) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("true")
        place = await runtime.launch(request)
        await ended(request)
        assert await runtime.exists(place)
        file = request.state_dir / "pid.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "another"}))
        assert not await runtime.exists(place)
        assert await runtime.find(1, request.state_dir) is None

    play(scenario)


def test_one_whose_wrapper_was_killed_is_lost(ask: Ask) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("sleep", "1000")
        place = await runtime.launch(request)
        process = read_process(request.state_dir)
        assert process is not None
        os.kill(process.wrapper.pid, signal.SIGKILL)
        await ended(request)
        assert not await runtime.exists(place)
        assert not await end_agent(request.env[MARK], request.state_dir, grace=0.2)
        assert not alive(process.child)

    play(scenario)


def test_it_is_ended_with_everything_it_started(ask: Ask) -> None:
    script = "trap '' TERM; setsid sh -c \"trap '' HUP TERM; echo $$; sleep 1000\" & echo up; wait; sleep 1000"

    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("sh", "-c", script)
        place = await runtime.launch(request)
        await shows(runtime, place, "up")
        assert not await end_agent(request.env[MARK], request.state_dir, grace=0.2)
        left = read_exit(request.state_dir)
        assert left is not None
        assert left.signal == signal.SIGKILL

    play(scenario)


def test_wrappers_that_ended_leave_no_zombie(ask: Ask) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("true")
        place = await runtime.launch(request)
        process = read_process(request.state_dir)
        assert process is not None
        await ended(request)
        await runtime.screen(place)
        assert not Path(f"/proc/{process.wrapper.pid}").exists()

    play(scenario)


def test_a_look_is_worth_while_only_after_more_was_printed(ask: Ask, tmp_path: Path) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        request = ask("sh", "-c", "echo one; until test -e go; do sleep 0.02; done; echo two")
        place = await runtime.launch(request)
        assert runtime.changed(place)
        await shows(runtime, place, "one")
        await runtime.screen(place)  # what was printed during a look makes one more worth while
        assert not runtime.changed(place)
        (tmp_path / "go").touch()
        await ended(request)
        assert runtime.changed(place)
        await shows(runtime, place, "two")
        assert not runtime.changed(place)

    play(scenario)


def test_no_text_is_ever_sent(ask: Ask) -> None:
    def never() -> bool | None:
        raise AssertionError("nothing is typed, and no evidence is asked for")

    async def scenario(runtime: BackgroundRuntime) -> None:
        place = Place(session="", window="", pane=str(ask("true").state_dir / LOG_FILE))
        rules = {"screen": ScreenRules(), "send": SendRules(), "evidence": never}
        sent = await runtime.send(place, "hello", typing=never, **rules)
        assert sent.state == "failed"
        assert "cannot receive text" in sent.detail
        assert "next run" in sent.detail
        assert (await runtime.resume_send(place, "hello", **rules)).state == "unconfirmed"

    play(scenario)


def test_an_agent_that_is_nowhere_has_no_screen(tmp_path: Path) -> None:
    async def scenario(runtime: BackgroundRuntime) -> None:
        nowhere = Place(session="", window="", pane="")
        assert not await runtime.exists(nowhere)
        assert await runtime.screen(nowhere) is None
        assert await runtime.screen(Place(session="", window="", pane=str(tmp_path / LOG_FILE))) is None

    play(scenario)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"\x1b[31mred\x1b[0m\x07 a\tb\r\nnext\n", "red a    b\nnext"),
        (b"10%\r20%\rdone \xff\xe2\x98\x83\n", "10%\n20%\ndone \ufffd☃"),
        (b"x" * TAIL + b"\nwhole\n", "whole"),
        (b"x" * (TAIL + 5), "x" * TAIL),
        (b"cut \xe2\x98\x83" * TAIL + b"\nlast", "last"),
    ],
)
def test_the_tail_of_a_log_is_plain_text_from_a_whole_line_on(tmp_path: Path, data: bytes, text: str) -> None:
    log = tmp_path / LOG_FILE
    log.write_bytes(data)
    assert tail_of(log) == text
