"""The pane runtime on a real tmux: launch, find, read, type, close, and what tmux tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from herdr.api import ScreenRules, SendRules
from herdr.mux.errors import TmuxError
from herdr.mux.server import TmuxServer
from herdr.runtime.api import AgentProcess, Exit, LaunchRequest, Place
from herdr.runtime.ending import end_agent, wait_end
from herdr.runtime.launchfile import read_exit, revoke_launch, wait_started
from herdr.runtime.pane import PaneEvent, PaneRuntime
from herdr.runtime.processes import MARK, alive

Scenario = Callable[[PaneRuntime], Awaitable[None]]


@pytest.fixture
def server(tmp_path: Path) -> TmuxServer:
    return TmuxServer("runtime", tmp_path / "home" / "tmux.conf", os.environ)


@pytest.fixture
def in_tmux(server: TmuxServer, tmp_path: Path) -> Callable[[Scenario], None]:
    """Run a scenario with a runtime; the agents' processes are ended afterwards."""

    def run(scenario: Scenario) -> None:
        async def main() -> None:
            runtime = await PaneRuntime.open(server, "a project", tmp_path)
            try:
                with anyio.fail_after(30):
                    await scenario(runtime)
            finally:
                await runtime.aclose()
                for state_dir in tmp_path.glob("agents/*"):
                    await end_agent(mark_of(state_dir), state_dir, grace=0)

        anyio.run(main)

    return run


def mark_of(state_dir: Path) -> str:
    return f"{state_dir.parent}:{state_dir.name}"


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., LaunchRequest]:
    def request(
        agent_id: int, *argv: str, env: dict[str, str] | None = None, title: str = "an idea"
    ) -> LaunchRequest:
        state_dir = tmp_path / "agents" / str(agent_id)
        environ = {"PATH": os.environ["PATH"], MARK: mark_of(state_dir), **(env or {})}
        return LaunchRequest(
            agent_id=agent_id, name=f"agent-{agent_id}", title=title, cwd=tmp_path, argv=argv, env=environ,
            clear=(), state_dir=state_dir,
        )  # fmt: skip

    return request


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await anyio.sleep(0.01)


async def shows(runtime: PaneRuntime, place: Place, text: str) -> None:
    while text not in await text_of(runtime, place):
        await anyio.sleep(0.02)


async def text_of(runtime: PaneRuntime, place: Place) -> str:
    screen = await runtime.screen(place)
    assert screen is not None
    return screen.text


async def started(request: LaunchRequest) -> AgentProcess:
    process = await wait_started(request.state_dir, 20)
    assert process is not None
    return process


async def ended(request: LaunchRequest) -> Exit:
    await until(lambda: read_exit(request.state_dir))
    found = read_exit(request.state_dir)
    assert found is not None
    return found


def tmux(server: TmuxServer, *words: str) -> str:
    return subprocess.run(
        [*server.argv, *words], capture_output=True, text=True, check=True, env=server.environ
    ).stdout


def test_from_launch_to_exit(in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest]) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        request = ask(1, "sh", "-c", "echo hello; read line; exit 7")
        place = await runtime.launch(request)
        process = await started(request)
        await shows(runtime, place, "hello")
        assert await runtime.exists(place)
        os.kill(process.child.pid, signal.SIGTERM)
        await wait_end(process.wrapper)
        assert (await ended(request)).signal == signal.SIGTERM
        assert await runtime.exists(place), "the window of an agent that ended stays to be looked at"
        await shows(runtime, place, "hello")
        await runtime.close(place)
        assert not await runtime.exists(place)
        assert await runtime.screen(place) is None
        await runtime.close(place)

    in_tmux(scenario)


def test_ctrl_c_typed_in_the_pane_reaches_the_harness_only(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        request = ask(1, "sh", "-c", "trap 'exit 3' INT; echo up; while :; do sleep 0.05; done")
        place = await runtime.launch(request)
        await shows(runtime, place, "up")
        tmux(server, "send-keys", "-t", place.pane, "C-c")
        assert (await ended(request)).status == 3

    in_tmux(scenario)


AWKWARD = [
    "",
    ";",
    "a;",
    "-x",
    "$HOME `id` #(touch x) #{pane_id} %H",
    'it\'s "q" \\',
    "two\nlines",
    "~",
    "☃",
    "x" * 100_000,
]


def test_arguments_arrive_byte_for_byte_and_the_title_is_only_a_title(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], tmp_path: Path
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        code = "import json, sys; json.dump(sys.argv[1:], open('got.json', 'w'))"
        request = ask(
            1, sys.executable, "-c", code, *AWKWARD, *AWKWARD, title="#(touch pwned) ; it's\nnew #{pane_id}"
        )
        place = await runtime.launch(request)
        assert (await ended(request)).status == 0
        assert json.loads((tmp_path / "got.json").read_text()) == AWKWARD * 2
        screen = await runtime.screen(place)
        assert screen is not None
        assert "#(touch pwned)" in screen.title
        assert not (tmp_path / "pwned").exists()

    in_tmux(scenario)


def test_secrets_are_neither_on_disk_nor_in_an_argv_nor_with_tmux(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer, tmp_path: Path
) -> None:
    secret = "sk-0123456789"

    async def scenario(runtime: PaneRuntime) -> None:
        request = ask(1, "sh", "-c", "echo up; sleep 100", env={"API_KEY": secret})
        place = await runtime.launch(request)
        await shows(runtime, place, "up")
        process = await started(request)
        assert secret.encode() in Path(f"/proc/{process.child.pid}/environ").read_bytes()
        for path in tmp_path.rglob("*"):
            assert not path.is_file() or secret.encode() not in path.read_bytes(), path
        seen = [
            tmux(server, "show-messages"),
            tmux(server, "show-environment", "-g"),
            tmux(server, "list-panes", "-a", "-F", "#{pane_start_command}"),
            Path(f"/proc/{process.wrapper.pid}/cmdline").read_text(),
            Path(f"/proc/{process.child.pid}/cmdline").read_text(),
            Path(f"/proc/{process.wrapper.pid}/environ").read_text(),
        ]
        assert not [text for text in seen if secret in text]

    in_tmux(scenario)


def test_a_binary_that_is_missing_is_an_end_with_its_reason_on_screen(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest]
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        request = ask(1, "no-such-agent")
        place = await runtime.launch(request)
        left = await ended(request)
        assert (left.status, left.error) == (127, "not_found")
        await shows(runtime, place, "cannot start no-such-agent")

    in_tmux(scenario)


def test_a_launch_that_fails_leaves_nothing_that_could_start(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], tmp_path: Path
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        good = ask(1, "touch", str(tmp_path / "ran"))
        request = LaunchRequest(
            agent_id=1, name="a", title="t", cwd=tmp_path / "gone", argv=good.argv, env=good.env, clear=(),
            state_dir=good.state_dir,
        )  # fmt: skip
        with pytest.raises(TmuxError, match="does not exist"):
            await runtime.launch(request)
        assert not (request.state_dir / "launch.json").exists()
        assert revoke_launch(request.state_dir) is True
        assert await runtime.find(1, request.state_dir) is None

    in_tmux(scenario)


def test_agents_are_found_again_by_whole_words(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer, tmp_path: Path
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        one, ten = ask(1, "sleep", "100"), ask(10, "sleep", "100")
        place_ten = await runtime.launch(ten)
        await started(ten)
        later = await PaneRuntime.open(server, "a project", tmp_path)
        assert await later.find(1, one.state_dir) is None
        assert await later.find(1, ten.state_dir) is None
        assert await later.screen(place_ten) is None, "a place is void until it was found"
        assert await later.find(10, ten.state_dir) == place_ten
        assert await later.exists(place_ten)
        place_one = await later.launch(one)
        assert place_one != place_ten
        assert await runtime.find(1, one.state_dir) == place_one
        await later.aclose()

    in_tmux(scenario)


def test_an_agent_that_has_ended_is_found_for_its_last_screen(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer, tmp_path: Path
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        request = ask(1, "echo", "last words")
        await runtime.launch(request)
        await ended(request)
        later = await PaneRuntime.open(server, "a project", tmp_path)
        place = await later.find(1, request.state_dir)
        assert place is not None
        await shows(later, place, "last words")
        await later.aclose()

    in_tmux(scenario)


def test_a_daemon_that_is_killed_leaves_its_agents_running(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer, tmp_path: Path
) -> None:
    code = textwrap.dedent(
        """
        import os, sys, anyio
        from pathlib import Path
        from herdr.mux.server import TmuxServer
        from herdr.runtime.api import LaunchRequest
        from herdr.runtime.pane import PaneRuntime
        tmp, mark = Path(sys.argv[1]), sys.argv[2]
        async def main():
            server = TmuxServer("runtime", tmp / "home" / "tmux.conf", os.environ)
            runtime = await PaneRuntime.open(server, "a project", tmp)
            await runtime.launch(LaunchRequest(
                agent_id=4, name="agent-4", title="t", cwd=tmp, argv=("sleep", "100"), clear=(),
                env={"PATH": os.environ["PATH"], "HERDR_AGENT": mark}, state_dir=tmp / "agents" / "4"))
            print("launched", flush=True)
            await anyio.sleep_forever()
        anyio.run(main)
        """
    )
    state_dir = tmp_path / "agents" / "4"
    root = str(Path(__file__).parents[2])
    daemon = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), mark_of(state_dir)], stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": root}, start_new_session=True,
    )  # fmt: skip
    with daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"launched\n"
        os.killpg(daemon.pid, signal.SIGKILL)

    async def scenario(runtime: PaneRuntime) -> None:
        place = await runtime.find(4, state_dir)
        assert place is not None
        process = await wait_started(state_dir, 20)
        assert process is not None
        assert alive(process.child)
        assert revoke_launch(state_dir) is False

    in_tmux(scenario)


def test_when_the_server_dies_its_agents_are_gone_and_new_ones_can_start(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        changes: list[PaneEvent] = []
        runtime.on_event(changes.append)
        old = ask(1, "sleep", "100")
        place = await runtime.launch(old)
        await started(old)
        tmux(server, "kill-server")
        assert (await ended(old)).signal == signal.SIGHUP
        await until(lambda: PaneEvent(kind="lost") in changes)
        assert await runtime.find(1, old.state_dir) is None
        assert not await runtime.exists(place)
        assert runtime.changed(place)
        new = ask(2, "sh", "-c", "echo new; sleep 100")
        again = await runtime.launch(new)
        await shows(runtime, again, "new")
        assert (again.session, again.pane) == (place.session, place.pane), "the new server gives the same ids"

    in_tmux(scenario)


def test_ids_of_a_lost_server_never_reach_another_agent_s_pane(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        old = ask(1, "sleep", "100")
        place = await runtime.launch(old)
        await started(old)
        tmux(server, "kill-server")
        await ended(old)
        assert await runtime.screen(place) is None
        tmux(server, "new-window", "-d", "sh -c 'read line; echo \"<$line>\"; sleep 100'")
        delivery = await runtime.send(
            place, "hello", screen=ScreenRules(), send=SendRules(received="<{text}>"), typing=lambda: None,
            evidence=lambda: None,
        )  # fmt: skip
        assert delivery.state == "failed"
        assert "hello" not in tmux(server, "capture-pane", "-p", "-t", place.pane)

    in_tmux(scenario)


def test_a_client_that_somebody_detached_comes_back_and_nothing_is_lost(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        changes: list[PaneEvent] = []
        runtime.on_event(changes.append)
        request = ask(1, "sh", "-c", "echo up; read line; echo after; read line")
        place = await runtime.launch(request)
        await shows(runtime, place, "up")
        tmux(server, "detach-client", "-s", place.session)
        await shows(runtime, place, "up")
        assert await runtime.find(1, request.state_dir) == place
        assert PaneEvent(kind="lost") not in changes
        changes.clear()
        tmux(server, "send-keys", "-t", place.pane, "Enter")
        await shows(runtime, place, "after")
        await until(lambda: any(change.kind == "activity" for change in changes))

    in_tmux(scenario)


def test_changes_are_told_without_polling(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        changes: list[PaneEvent] = []
        runtime.on_event(changes.append)
        quiet, loud = (
            ask(1, "sleep", "100"),
            ask(2, "sh", "-c", "read a; printf '\\033]2;at work\\007'; read b; exit 0"),
        )
        still, place = await runtime.launch(quiet), await runtime.launch(loud)
        await started(loud)
        await settle(runtime, place, still)
        changes.clear()
        tmux(server, "send-keys", "-t", place.pane, "Enter")
        await until(lambda: PaneEvent(kind="title", pane=place.pane, value="at work") in changes)
        assert runtime.changed(place)
        assert not runtime.changed(still)
        tmux(server, "send-keys", "-t", place.pane, "Enter")
        await until(lambda: PaneEvent(kind="dead", pane=place.pane) in changes)
        assert {change.pane for change in changes} == {place.pane}

    in_tmux(scenario)


async def settle(runtime: PaneRuntime, *places: Place) -> None:
    """Read until nothing can have changed since."""
    while any(runtime.changed(place) for place in places):
        await anyio.sleep(0.05)
        await runtime.screens(places)


def test_what_is_printed_right_after_a_reading_is_not_missed(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    """tmux tells whole seconds, so a reading within the second of the last output proves nothing."""

    async def scenario(runtime: PaneRuntime) -> None:
        request = ask(1, "sh", "-c", "read line; echo one; read line; echo two; sleep 100")
        place = await runtime.launch(request)
        await started(request)
        await settle(runtime, place)
        told = anyio.Event()
        runtime.on_event(lambda change: told.set() if change.pane == place.pane else None)
        tmux(server, "send-keys", "-t", place.pane, "Enter")
        await told.wait()
        await runtime.screen(place)
        assert runtime.changed(place)
        tmux(server, "send-keys", "-t", place.pane, "Enter")
        text = ""
        while "two" not in text:
            await anyio.sleep(0.02)
            if runtime.changed(place):
                text = await text_of(runtime, place)
        await settle(runtime, place)

    in_tmux(scenario)


def test_the_last_words_are_still_read_when_tmux_has_written_under_them(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        place = await runtime.launch(ask(1, "echo", "last words"))
        while "Pane is dead" not in tmux(server, "capture-pane", "-p", "-t", place.pane):
            # tmux 3.3 may write it only when it hears of another process.
            tmux(server, "run-shell", "-b", "true")
            await anyio.sleep(0.05)
        assert "last words" in await text_of(runtime, place)

    in_tmux(scenario)


def test_many_screens_are_read_in_one_go(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest]
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        requests = [ask(number, "sh", "-c", f"echo agent {number}; sleep 100") for number in (1, 2, 3)]
        places = [await runtime.launch(request) for request in requests]
        for number, place in enumerate(places, 1):
            await shows(runtime, place, f"agent {number}")
        await runtime.close(places[1])
        first, second, third = await runtime.screens(places)
        assert first is not None
        assert third is not None
        assert ("agent 1" in first.text, second, "agent 3" in third.text) == (True, None, True)

    in_tmux(scenario)


def test_a_text_is_typed_and_announced_before(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], tmp_path: Path
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        log = tmp_path / "log"
        request = ask(
            1, "sh", "-c", f'echo up; while read -r line; do echo "$line" >>{log}; echo "<$line>"; done'
        )
        place = await runtime.launch(request)
        await shows(runtime, place, "up")
        announced: list[bool] = []
        delivery = await runtime.send(
            place, "hello; $HOME", screen=ScreenRules(), send=SendRules(received="<{text}>"),
            typing=lambda: announced.append(log.exists()), evidence=lambda: None,
        )  # fmt: skip
        assert delivery.state == "received"
        assert announced == [False]
        assert log.read_text() == "hello; $HOME\n"

    in_tmux(scenario)


def test_what_cannot_be_typed_is_not_announced(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest], server: TmuxServer
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        place = await runtime.launch(ask(1, "cat"))
        tmux(server, "copy-mode", "-t", place.pane)
        announced: list[bool] = []
        delivery = await runtime.send(
            place, "hello", screen=ScreenRules(), send=SendRules(received="{text}"),
            typing=lambda: announced.append(True), evidence=lambda: None,
        )  # fmt: skip
        assert delivery.state == "waiting"
        assert announced == []

    in_tmux(scenario)


def test_the_newest_ten_windows_of_ended_agents_are_kept(
    in_tmux: Callable[[Scenario], None], ask: Callable[..., LaunchRequest]
) -> None:
    async def scenario(runtime: PaneRuntime) -> None:
        places = []
        for number in range(1, 14):
            request = ask(number, "true")
            places.append(await runtime.launch(request))
            process = await wait_started(request.state_dir, 20)
            await ended(request)
            if process is not None:
                await wait_end(process.wrapper)
        living = ask(50, "sleep", "100")
        await runtime.launch(living)
        held = [await runtime.exists(place) for place in places]
        assert held[:3] == [False, False, False]
        assert held[4:] == [True] * 9

    in_tmux(scenario)
