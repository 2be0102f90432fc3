"""`herdr logs`: the daemon's log, or an agent's screen."""

from __future__ import annotations

import time

import click

from herdr.cli.asking import home_for_people
from herdr.cli.output import visible
from herdr.errors import RefusedError
from herdr.home import Home
from herdr.store.rows import Agent, Project, get

#: Seconds between two looks at the log.
LOOK = 0.3


@click.command()
@click.argument("worker", required=False, metavar="[worker#N]")
@click.option("--lines", "-n", type=click.IntRange(1), default=50, show_default=True, help="How many lines.")
@click.option("--follow", "-f", is_flag=True, help="Go on printing the daemon's log, until interrupted.")
def logs(worker: str | None, lines: int, follow: bool) -> None:
    """Print the end of the daemon's log; or the screen of WORKER, the last one if it has ended."""
    from herdr.cli.fleet import tail

    home = home_for_people("logs")
    if worker is not None:
        text = _screen(home, worker).rstrip("\n")
        click.echo(visible("\n".join(text.split("\n")[-lines:])))
        return
    for line in tail(home.log, lines):
        click.echo(visible(line))
    if follow:
        _follow(home)


def _screen(home: Home, name: str) -> str:
    from herdr.cli.fleet import tmux, tmux_of
    from herdr.cli.projects import reading
    from herdr.ops.look import look_agent
    from herdr.ops.run import SCREEN_FILE

    with reading(home) as context:
        agent = look_agent(context, name)
        project = get(context.conn, Project, agent.project_id)
    if agent.state == "ended":
        file = home.agent_dir(agent.id) / SCREEN_FILE
        if file.exists():
            return file.read_text("utf-8", "replace")
        raise RefusedError(f"{agent.name} left no screen", fix=_see(agent))
    # The rest of the conversation stands above the screen.
    shown = tmux(tmux_of(home, project), "capture-pane", "-p", "-J", "-S", "-", "-t", agent.pane or "%none")
    if not shown.strip():
        raise RefusedError(f"{agent.name} has nothing on its screen", fix=_see(agent))
    return shown


def _see(agent: Agent) -> str:
    return f"piloop run show run#{agent.run_id}"


def _follow(home: Home) -> None:
    with home.log.open("r", encoding="utf-8", errors="replace") as log:
        log.seek(0, 2)
        while True:
            line = log.readline()
            if line:
                click.echo(visible(line), nl=False)
            else:
                time.sleep(LOOK)
