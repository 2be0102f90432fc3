"""One control client, quick, told of changes, and honest about a server that is gone."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import pytest

from herdr.mux.control import ControlClient
from herdr.mux.errors import ServerGone, TmuxError

pytestmark = pytest.mark.anyio


async def test_answers_come_to_those_who_asked(mux: Any) -> None:
    answers: dict[int, list[str]] = {}

    async def ask(number: int) -> None:
        answers[number] = await mux.client.run("display-message", "-p", f"answer {number}")

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(ask, number)
    assert answers == {number: [f"answer {number}"] for number in range(200)}


async def test_a_cancelled_call_does_not_shift_later_answers(mux: Any) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await mux.client.run("display-message", "-p", "cancelled")
    async with anyio.create_task_group() as group:
        await mux.client.run("wait-for", "go-on")
        group.start_soon(mux.client.run, "display-message", "-p", "abandoned")
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    mux.server.command("wait-for", "-S", "go-on")
    assert await mux.client.run("display-message", "-p", "next") == ["next"]


async def test_a_refusal_is_an_error_with_tmuxs_words(mux: Any) -> None:
    with pytest.raises(TmuxError, match="can't find pane: %99"):
        await mux.client.run("send-keys", "-t", "%99", "x")
    with pytest.raises(TmuxError, match="unknown command: nonsense"):
        await mux.client.run("nonsense")
    first, second, third = await mux.client.run_many(
        [("display-message", "-p", "1"), ("kill-pane", "-t", "%99"), ("display-message", "-p", "3")]
    )
    assert (first, third) == (["1"], ["3"])
    assert isinstance(second, TmuxError)


async def test_large_commands_and_answers(mux: Any) -> None:
    text = "é;#~\n$" * 20_000
    await mux.client.run("set-buffer", "-b", "big", "--", text)
    assert "\n".join(await mux.client.run("show-buffer", "-b", "big")) == text


async def test_a_screen_that_imitates_the_protocol_is_only_text(mux: Any) -> None:
    lines = "%end 1 1 1\n%error 2 2 1\n%exit\n%begin 3 3 1\n"
    program = await mux.open("sh", "-c", 'printf "%s" "$0"; exec cat', lines)
    await program.shows("%begin 3 3 1")
    assert (await program.screen()).text.splitlines()[:3] == ["%end 1 1 1", "%error 2 2 1", "%exit"]
    assert await mux.client.run("display-message", "-p", "still") == ["still"]


async def test_subscriptions_tell_titles_and_deaths_of_later_windows_too(mux: Any) -> None:
    seen: dict[str, str] = {}
    await mux.client.subscribe("state", "%*", "#{pane_dead} #{pane_title}", seen.__setitem__)
    program = await mux.open("sh", "-c", r"printf '\033]2;my : title\007'; read x")

    async def titled() -> bool:
        return seen.get(program.pane) == "0 my : title"

    async def dead() -> bool:
        return seen.get(program.pane) == "1 my : title"

    await mux.until(titled)
    await mux.client.run("send-keys", "-t", program.pane, "Enter")
    await mux.until(dead)


async def test_notifications_reach_listeners_and_a_broken_one_hurts_nobody(mux: Any) -> None:
    heard: list[tuple[str, str]] = []
    problems: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(context["exception"]))

    def broken(name: str, rest: str) -> None:
        raise ValueError(name)

    mux.client.on_notification(broken)
    mux.client.on_notification(lambda name, rest: heard.append((name, rest)))
    program = await mux.open("cat")

    async def told() -> bool:
        return ("window-add", program.window) in heard

    await mux.until(told)
    assert await mux.client.run("display-message", "-p", "on") == ["on"]
    assert all(isinstance(problem, ValueError) for problem in problems)


async def test_output_of_panes_does_not_reach_the_client(mux: Any) -> None:
    names: set[str] = set()
    mux.client.on_notification(lambda name, rest: names.add(name))
    program = await mux.open("sh", "-c", "seq 1 20000; echo done; exec cat")
    await program.shows("done")
    assert "output" not in names


async def test_server_killed_fails_every_waiting_call(mux: Any) -> None:
    lost: list[bool] = []
    mux.client.on_gone(lambda: lost.append(True))
    failed: list[Exception] = []

    # tmux answers this at once, and holds back what follows.
    await mux.client.run("wait-for", "never")

    async def wait() -> None:
        try:
            await mux.client.run("display-message", "-p", "x")
        except ServerGone as error:
            failed.append(error)

    pid = int(mux.server.command("display-message", "-p", "#{pid}")[0])
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        os.kill(pid, signal.SIGKILL)
    assert len(failed) == 3
    assert mux.client.gone

    async def told() -> bool:
        return lost == [True]

    await mux.until(told)
    with pytest.raises(ServerGone):
        await mux.client.run("display-message", "-p", "x")


async def test_a_client_that_somebody_detached_is_gone_and_the_session_lives_on(mux: Any) -> None:
    mux.server.command("detach-client", "-s", mux.client.session)

    async def gone() -> bool:
        return bool(mux.client.gone)

    await mux.until(gone)
    lost: list[bool] = []
    mux.client.on_gone(lambda: lost.append(True))
    again = await ControlClient.open(mux.server.argv, mux.client.session, mux.server.environ)
    assert await again.run("display-message", "-p", "#{session_id}") == [mux.client.session]
    assert lost == [True]
    await again.aclose()


async def test_session_killed_is_gone_while_another_lives_on(mux: Any, tmp_path: Path) -> None:
    other = mux.server.ensure_session("other", tmp_path, 200, 50)
    client = await ControlClient.open(mux.server.argv, other.id, mux.server.environ)
    await mux.client.run("kill-session", "-t", mux.client.session)

    async def gone() -> bool:
        return bool(mux.client.gone)

    await mux.until(gone)
    assert await client.run("display-message", "-p", "#{session_id}") == [other.id]
    await client.aclose()


async def test_opening_without_a_server_or_session_says_so(mux: Any) -> None:
    with pytest.raises(ServerGone, match="can't find session"):
        await ControlClient.open(mux.server.argv, "$77", mux.server.environ)
    mux.server.kill()
    with pytest.raises(ServerGone):
        await ControlClient.open(mux.server.argv, "$0", mux.server.environ)


async def test_closing_leaves_the_session_alone(mux: Any) -> None:
    program = await mux.open("cat")
    await mux.client.aclose()
    assert program.pane in [pane.pane_id for pane in mux.server.model().panes]
