"""`herdr logs`: the daemon's log, or what an agent shows or prints."""

from __future__ import annotations

import os
import re
import time
from typing import BinaryIO

import click

from herdr.cli.asking import home_for_people
from herdr.errors import RefusedError
from herdr.home import Home
from herdr.printing.values import visible
from herdr.store.rows import Agent, Project, get

#: Seconds between two looks at the log.
LOOK = 0.3


@click.command()
@click.argument("worker", required=False, metavar="[worker#N]")
@click.option("--lines", "-n", type=click.IntRange(1), default=50, show_default=True, help="How many lines.")
@click.option("--follow", "-f", is_flag=True, help="Go on printing the log, until interrupted.")
def logs(worker: str | None, lines: int, follow: bool) -> None:
    """Print the end of the daemon's log; or the screen of WORKER, the last one if it has ended.

    With runtime = "subprocess" it is the end of all that WORKER has printed.
    """
    from herdr.runtime.background import LOG_FILE

    home = home_for_people("logs", acts=False)
    log = home.log
    if worker is not None:
        agent, project = _agent(home, worker)
        log = home.agent_dir(agent.id) / LOG_FILE
        if not log.exists():
            # The empty part of a screen says nothing.
            text = re.sub(r"\n\s*\n", "\n\n", _screen(home, agent, project).strip("\n"))
            click.echo(visible("\n".join(text.split("\n")[-lines:])))
            return
    if not log.exists():
        raise RefusedError(f"there is no log at {log}", fix="herdr up")
    with log.open("rb") as file:
        for line in _tail(file, lines):
            click.echo(visible(line))
        while follow:
            _print_more(file)


def _agent(home: Home, name: str) -> tuple[Agent, Project]:
    from herdr.control.projects import reading
    from herdr.ops.look import look_agent

    with reading(home) as context:
        agent = look_agent(context, name)
        return agent, get(context.conn, Project, agent.project_id)


def _screen(home: Home, agent: Agent, project: Project) -> str:
    from herdr.control.sessions import tmux, tmux_of
    from herdr.ops.run import SCREEN_FILE
    from herdr.ops.stored_config import in_background

    if agent.state == "ended":
        file = home.agent_dir(agent.id) / SCREEN_FILE
        if file.exists():
            return file.read_text("utf-8", "replace")
        raise RefusedError(f"{agent.name} left no screen", fix=_see(agent))
    if in_background(project):
        raise RefusedError(f"{agent.name} has not started yet", fix=_see(agent))
    # The rest of the conversation stands above the screen.
    shown = tmux(tmux_of(home, project), "capture-pane", "-p", "-J", "-S", "-", "-t", agent.pane or "%none")
    if not shown.strip():
        raise RefusedError(f"{agent.name} has nothing on its screen", fix=_see(agent))
    return shown


def _see(agent: Agent) -> str:
    return f"piloop run show run#{agent.run_id}"


def _print_more(log: BinaryIO) -> None:
    line = log.readline()
    if line:
        click.echo(visible(line.decode("utf-8", "replace")), nl=False)
    else:
        time.sleep(LOOK)


def _tail(file: BinaryIO, count: int) -> list[str]:
    """The last lines of an open file, which stands at its end afterwards."""
    size, length = file.seek(0, os.SEEK_END), 400 * count + 4096
    while True:
        file.seek(max(0, size - length))
        lines = file.read().splitlines()
        if len(lines) > count or length >= size:
            return [line.decode("utf-8", "replace") for line in lines[-count:]]
        length *= 4
