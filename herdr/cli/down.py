"""`herdr down`: stops the daemon; its agents go on, or are ended."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from herdr.cli.asking import home_for_people
from herdr.cli.output import several
from herdr.errors import HerdrError
from herdr.home import Home

#: Seconds for the daemon to end: beyond what it gives its agents to end.
KEEP_PATIENCE, KILL_PATIENCE = 20.0, 60.0


@click.command()
@click.option(
    "--keep-agents/--kill-agents",
    default=True,
    help="Leave the agents running, for the next daemon (the default); or end them, and queue their runs.",
)
def down(keep_agents: bool) -> None:
    """Stop the daemon, and wait until it has ended."""
    from herdr.cli.fleet import is_running, wait_until
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


def _live(home: Home) -> int:
    from herdr.cli.projects import reading

    if not home.database.exists():
        return 0
    with reading(home) as context:
        count: int = context.conn.execute("SELECT count(*) FROM agents WHERE state <> 'ended'").fetchone()[0]
        return count


def _said(left: int, keep: bool) -> str:
    if left == 0:
        return ""
    if keep:
        agents = "1 agent goes" if left == 1 else f"{left} agents go"
        return f"; {agents} on, and the next `herdr up` takes over (--kill-agents ends them)"
    return f"; {several(left, 'agent')} could not be ended in time: herdr up -d && herdr down --kill-agents"
