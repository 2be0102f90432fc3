"""`herdr down`: stops the daemon; its agents go on, or are ended."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from herdr.cli.asking import home_for_people
from herdr.errors import HerdrError
from herdr.home import Home
from herdr.printing.values import several

if TYPE_CHECKING:
    from herdr.mux.server import TmuxServer

#: Seconds for the daemon to end: beyond what it gives its agents to end.
KEEP_PATIENCE, KILL_PATIENCE = 20.0, 60.0


@click.command()
@click.option(
    "--keep-agents/--kill-agents",
    default=True,
    help="Leave the agents running, for the next daemon (the default); or end them, queue their runs, and end"
    " the tmux server, unless you are attached or run something in it.",
)
def down(keep_agents: bool) -> None:
    """Stop the daemon, and wait until it has ended."""
    from herdr.control.daemon import is_running, wait_until
    from herdr.daemon.lock import KEEP_AGENTS, KILL_AGENTS, daemon_pid

    home = home_for_people("down")
    pid = daemon_pid(home)
    if pid is None:
        click.echo(f"no daemon runs for {home.root}")
        if not keep_agents and _live(home):
            raise HerdrError(
                f"{several(_live(home), 'agent')} may still run, and only a daemon can end them",
                fix="herdr up -d && herdr down --kill-agents",
            )
        if not keep_agents:
            _end_servers(home)
        return
    patience = KEEP_PATIENCE if keep_agents else KILL_PATIENCE
    with suppress(ProcessLookupError):
        os.kill(pid, KEEP_AGENTS if keep_agents else KILL_AGENTS)
    if not wait_until(lambda: not is_running(home), patience):
        raise HerdrError(
            f"the daemon (pid {pid}) has not ended within {patience:.0f} s",
            fix=f"see {home.log}; `kill -9 {pid}` loses nothing",
        )
    left = _live(home)
    click.echo(f"the daemon has ended{_said(left, keep_agents)}")
    if left == 0 and not keep_agents:
        _end_servers(home)


def _end_servers(home: Home) -> None:
    """End the tmux servers of the home's projects; one that a person uses stays, and that is said."""
    from herdr.control.projects import reading
    from herdr.control.sessions import tmux_of
    from herdr.ops.stored_config import in_background
    from herdr.store.rows import Project, fetch

    if not home.database.exists():
        return
    with reading(home) as context:
        projects = [one for one in fetch(context.conn, Project, "ORDER BY id") if not in_background(one)]
    for server in {server.socket_name: server for server in (tmux_of(home, one) for one in projects)}.values():
        used = _used(server) if server.alive() else None
        if used is not None:
            click.echo(
                f"its tmux server stays, because {used}: {shlex.join([*server.argv, 'kill-server'])} ends it"
            )
            continue
        server.kill()


def _used(server: TmuxServer) -> str | None:
    """What keeps a server from being ended: a person who looks, or a program in a pane that is no idle shell."""
    from herdr.control.sessions import tmux

    if "0" in tmux(server, "list-clients", "-F", "#{client_control_mode}").split():
        return "you are attached"
    fields = "#{pane_dead} #{pane_pid} #{session_name}:#{window_name} #{pane_current_command}"
    for line in tmux(server, "list-panes", "-a", "-F", fields).splitlines():
        dead, pid, where, command = line.split(" ", 3)
        if dead == "0" and command != _name_of(int(pid)):
            return f"{command} runs in {where}"
    return None


def _name_of(pid: int) -> str | None:
    import psutil

    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return None


def _live(home: Home) -> int:
    from herdr.control.projects import reading
    from herdr.store.queries import count_live_agents

    if not home.database.exists():
        return 0
    with reading(home) as context:
        return count_live_agents(context.conn)


def _said(left: int, keep: bool) -> str:
    if left == 0:
        return ""
    if keep:
        agents = "1 agent goes" if left == 1 else f"{left} agents go"
        return f"; {agents} on, and the next `herdr up` takes over (--kill-agents ends them)"
    return f"; {several(left, 'agent')} could not be ended in time: herdr up -d && herdr down --kill-agents"
