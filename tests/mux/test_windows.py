"""Windows addressed by ids, of a fixed size, checked after they open."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from herdr.mux.capture import capture, capture_many
from herdr.mux.control import ControlClient
from herdr.mux.errors import TmuxError
from herdr.mux.server import TmuxServer
from herdr.mux.windows import kill_window, list_panes, open_window, prune_ended, set_title

pytestmark = pytest.mark.anyio

SIZE = {"width": 200, "height": 50}


async def info(mux: Any, pane: str) -> Any:
    return next((one for one in await list_panes(mux.client) if one.pane == pane), None)


async def ended(mux: Any, pane: str) -> Any:
    async def dead() -> bool:
        # tmux can miss the end of a process until another one ends.
        await mux.client.run("run-shell", "-b", "true")
        one = await info(mux, pane)
        return bool(one.dead and one.ended)

    await mux.until(dead)
    return await info(mux, pane)


async def test_agent_1_never_reaches_agent_10(mux: Any) -> None:
    one = await mux.tui(name="agent-1")
    ten = await mux.tui(name="agent-10")
    await kill_window(mux.client, one.window)
    await kill_window(mux.client, one.window)
    assert (await one.submit("for agent-1")).state == "failed"
    assert ten.entries == []
    assert (await info(mux, ten.pane)).name == "agent-10"


async def test_argv_arrives_byte_for_byte(mux: Any, tmp_path: Path) -> None:
    out = tmp_path / "argv.json"
    words = ["do x;", ";", "-n", "", "#(touch pwned)", "$HOME `id`", "two\nlines", "é日🚀", "~", "x" * 8_000]
    script = "import json,sys; json.dump(sys.argv[2:], open(sys.argv[1], 'w'))"
    program = await mux.open(sys.executable, "-c", script, str(out), *words)
    await ended(mux, program.pane)
    assert json.loads(out.read_text()) == words


async def test_a_lone_word_is_no_shell_command(mux: Any, tmp_path: Path) -> None:
    program = await mux.open(f"touch {tmp_path}/pwned; true")
    assert (await ended(mux, program.pane)).status == 127
    assert not (tmp_path / "pwned").exists()


async def test_a_missing_directory_is_an_error_and_leaves_no_window(mux: Any, tmp_path: Path) -> None:
    before = await list_panes(mux.client)
    with pytest.raises(TmuxError, match="does not exist"):
        await open_window(mux.client, "x", tmp_path / "missing", ["cat"], **SIZE)
    assert await list_panes(mux.client) == before


async def test_a_process_that_lands_elsewhere_is_an_error(
    mux: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("herdr.mux.windows.CHDIR_PATIENCE", 0.3)
    before = {pane.pane for pane in await list_panes(mux.client)}
    raised = None
    while raised is None:
        try:
            window, _ = await open_window(mux.client, "x", tmp_path, ["sh", "-c", "cd / && exec cat"], **SIZE)
        except TmuxError as error:
            raised = error
        else:
            # It was looked at before it had moved: on a busy machine, another try.
            await kill_window(mux.client, window)
    assert "started the agent in /" in raised.message
    assert {pane.pane for pane in await list_panes(mux.client)} == before


async def test_ends_are_told_with_their_status(mux: Any) -> None:
    failing = await mux.open("sh", "-c", "exit 7")
    missing = await mux.open("/no/such/program")
    killed = await mux.open("sh", "-c", "kill -9 $$")
    statuses = [(await ended(mux, one.pane)).status for one in (failing, missing, killed)]
    assert statuses == [7, 127, None]


async def test_list_panes_tells_what_tmux_knows(mux: Any, tmp_path: Path) -> None:
    program = await mux.open("sh", "-c", r"printf '\033]2;a	b %%H #(x)\007'; exec cat", name="worker: #1.5")

    async def titled() -> bool:
        return bool((await info(mux, program.pane)).title.startswith("a"))

    await mux.until(titled)
    await mux.client.run("copy-mode", "-t", program.pane)
    pane = await info(mux, program.pane)
    assert (pane.window, pane.session) == (program.window, mux.client.session)
    assert (pane.name, pane.dead, pane.status, pane.in_mode, pane.agent) == (
        "worker_ #1_5", False, None, True, True,
    )  # fmt: skip
    assert "exec cat" in pane.start_command
    assert (pane.path, pane.title.endswith("b %H #(x)")) == (str(tmp_path), True)
    assert [one.agent for one in await list_panes(mux.client)] == [False, True]


async def test_list_panes_is_not_confused_by_a_path(mux: Any, tmp_path: Path) -> None:
    odd = tmp_path / "a\n%0|@0|\tb"
    odd.mkdir()
    _, pane = await open_window(mux.client, "x", odd, ["cat"], **SIZE)
    assert (await info(mux, pane)).path == str(odd)
    assert len(await list_panes(mux.client)) == 2


async def test_only_the_newest_ended_windows_are_kept(mux: Any) -> None:
    await mux.client.run("respawn-pane", "-k", "-t", f"{mux.client.session}:0", "true")
    living = await mux.open("cat")
    programs = [await mux.open("true") for _ in range(4)]
    for program in programs:
        await ended(mux, program.pane)
    closed = await prune_ended(mux.client, keep=3)
    assert closed == [programs[0].window]
    left = {pane.pane for pane in await list_panes(mux.client)}
    assert {living.pane, *(program.pane for program in programs[1:])} < left
    assert len(left) == 5


async def test_an_80x24_terminal_changes_neither_size_nor_what_is_read(mux: Any, terminal: Any) -> None:
    program = await mux.open("sh", "-c", "seq -s- 1 60; exec cat")
    await program.shows("-60")
    before = await program.screen()
    person = terminal([*mux.server.argv, "attach-session", "-t", mux.client.session], mux.server.environ)

    async def attached() -> bool:
        return len(await mux.client.run("list-clients", "-t", mux.client.session)) == 2

    await mux.until(attached)
    await mux.client.run("select-window", "-t", program.window)
    later = await mux.open("sh", "-c", "seq -s- 1 60; exec cat")
    await later.shows("-60")
    size = "#{window_width}x#{window_height}"
    for one in (program, later):
        assert await mux.client.run("display-message", "-p", "-t", one.pane, size) == ["200x50"]
        assert (await one.screen()).text == before.text

    person.type(b"\x02d")

    async def detached() -> bool:
        return len(await mux.client.run("list-clients", "-t", mux.client.session)) == 1

    await mux.until(detached)
    assert (await program.screen()) == before
    assert not mux.client.gone


async def test_utf8_is_forced_where_the_locale_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: Path
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    server = TmuxServer("herdr-c", tmp_path / "tmux.conf", os.environ)
    server.ensure()
    try:
        session = server.ensure_session("größe 日本", tmp_path, 200, 50)
        assert server.ensure_session("größe 日本", tmp_path, 200, 50) == session
        client = await ControlClient.open(server.argv, session.id, server.environ)
        _, pane = await open_window(client, "größe 日本", tmp_path, ["sh", "-c", "echo ✓ 日本; exec cat"], **SIZE)
        await set_title(client, pane, "⠂ größe")
        panes = {one.pane: one for one in await list_panes(client)}
        assert (panes[pane].name, panes[pane].title) == ("größe 日本", "⠂ größe")
        screen = await capture(client, pane)
        while screen is not None and not screen.text:
            screen = await capture(client, pane)
        assert screen is not None
        assert screen.text == "✓ 日本"
        await client.aclose()
    finally:
        server.kill()


async def test_the_control_client_does_not_shrink_a_persons_window(mux: Any, terminal: Any) -> None:
    terminal([*mux.server.argv, "attach-session", "-t", mux.client.session], mux.server.environ, 133, 40)

    async def fits() -> bool:
        size = await mux.client.run("display-message", "-p", "-t", f"{mux.client.session}:0", "#{window_width}")
        return bool(size == ["133"])

    await mux.until(fits, "home fits the person's terminal")


async def test_reads_the_bottom_while_somebody_scrolls(mux: Any) -> None:
    program = await mux.open("sh", "-c", "seq 1 500; exec cat")
    await program.shows("500")
    await mux.client.run("copy-mode", "-t", program.pane)
    await mux.client.run("send-keys", "-t", program.pane, "-X", "history-top")
    screen = await program.screen()
    assert screen.in_mode
    assert screen.text.endswith("\n499\n500")
    deeper = await capture(mux.client, program.pane, lines=100)
    assert deeper is not None
    assert len(deeper.text.splitlines()) == len(screen.text.splitlines()) + 100


async def test_reads_wide_characters_and_joins_wrapped_lines(mux: Any) -> None:
    program = await mux.open("sh", "-c", 'printf "%s\\n" "$0"; exec cat', "日本語🚀é " * 40 + "end")
    await program.shows("end")
    assert (await program.screen()).text == "日本語🚀é " * 40 + "end"


async def test_an_alternate_screen_has_no_history_above_it(mux: Any) -> None:
    script = r"seq 1 200; printf '\033[?1049h\033[H\033[2Jinside'; exec cat"
    program = await mux.open("sh", "-c", script)
    await program.shows("inside")
    deeper = await capture(mux.client, program.pane, lines=100)
    assert deeper is not None
    assert deeper.text.strip() == "inside"


async def test_many_panes_are_read_in_one_go(mux: Any) -> None:
    programs = [await mux.open("sh", "-c", f"echo pane {number}; exec cat") for number in range(5)]
    for number, program in enumerate(programs):
        await program.shows(f"pane {number}")
    screens = await capture_many(mux.client, [*(program.pane for program in programs), "%99"])
    assert [screen and screen.text for screen in screens] == [*(f"pane {n}" for n in range(5)), None]
    assert await capture(mux.client, "%99") is None
