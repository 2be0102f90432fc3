"""A person attaches with plain tmux, and never nests by accident."""

from __future__ import annotations

import os
from typing import Any

import pytest

from herdr.mux.attach import attach_command, plan_attach

pytestmark = pytest.mark.anyio


async def test_attaches_with_plain_tmux(mux: Any, terminal: Any) -> None:
    plan = plan_attach(mux.server, mux.client.session, os.environ)
    assert list(plan.argv) == attach_command(mux.server, mux.client.session)
    terminal(plan.argv, plan.environ)

    async def attached() -> bool:
        return "80x24" in await mux.client.run("list-clients", "-F", "#{client_width}x#{client_height}")

    await mux.until(attached)


async def test_shows_the_command_inside_the_persons_own_tmux(mux: Any) -> None:
    plan = plan_attach(mux.server, mux.client.session, {"TMUX": "/tmp/tmux-0/default,1,0"})
    assert plan.argv == ()
    assert plan.show.startswith("env -u TMUX tmux -u -L herdr-test ")
    assert plan.show.endswith(f"attach-session -t '{mux.client.session}'")


async def test_switches_over_inside_our_own_server(mux: Any, terminal: Any, tmp_path: Any) -> None:
    other = mux.server.ensure_session("other", tmp_path, 200, 50)
    person = terminal(attach_command(mux.server, other.id), mux.server.environ)

    async def at(session: str) -> bool:
        fields = "#{client_control_mode} #{session_id}"
        return f"0 {session}" in await mux.client.run("list-clients", "-F", fields)

    await mux.until(lambda: at(other.id))
    plan = plan_attach(mux.server, mux.client.session, {"TMUX": f"{mux.server.socket_path},1,0"})
    person.type(f"{' '.join(plan.argv[:-1])} '{plan.argv[-1]}'\r".encode())
    await mux.until(lambda: at(mux.client.session))


async def test_a_person_who_types_makes_a_draft_and_herdr_waits(mux: Any, terminal: Any) -> None:
    program = await mux.tui()
    await mux.client.run("select-window", "-t", program.window)
    person = terminal(attach_command(mux.server, mux.client.session), mux.server.environ)

    async def drawn() -> bool:
        return b"fake-tui ready" in person.seen()

    await mux.until(drawn)
    person.type(b"my own idea")
    await program.shows("> my own idea")
    assert (await program.submit("from herdr")).state == "waiting"
    person.type(b"\r")
    await program.shows("* my own idea")
    assert (await program.submit("from herdr")).state == "received"
    assert program.messages == ["my own idea", "from herdr"]
