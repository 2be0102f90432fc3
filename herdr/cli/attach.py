"""`herdr attach`: shows the agents, with plain tmux."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from herdr.cli.asking import home_for_people
from herdr.errors import HerdrError, RefusedError
from herdr.home import Home
from herdr.store.rows import Agent, Project, get

if TYPE_CHECKING:
    from herdr.mux.server import TmuxServer


@click.command()
@click.argument("what", required=False, metavar="[WORKER|PROJECT]")
def attach(what: str | None) -> None:
    """Attach this terminal to the fleet's tmux session, at the window of WORKER if one is named.

    Look, scroll, even type; leave with Ctrl-b d. Inside your own tmux, or without a terminal, it prints the
    command instead.
    """
    home = home_for_people("attach")
    if what is not None and ("#" in what or what.isdigit()):
        _show(*turn_to(home, what))
    else:
        attach_to(home, what)


def attach_to(home: Home, name: str | None) -> None:
    """Attach to a project's session; returns only where the command is printed instead.

    Raises:
        HerdrError: the project has no session.
        RefusedError: its agents run in the background.
    """
    from herdr.cli.projects import project_named

    project = project_named(home, name)
    _refuse_background(project, "worker#N")
    _show(*_session(home, project))


def turn_to(home: Home, name: str) -> tuple[TmuxServer, str]:
    """Turn an agent's session to its window, and return the server and the session.

    Raises:
        RefusedError: it has no window, or runs in the background.
        HerdrError: there is no such agent, or its project has no session.
    """
    from herdr.cli.fleet import tmux
    from herdr.cli.projects import reading
    from herdr.ops.look import look_agent

    with reading(home) as context:
        agent = look_agent(context, name)
        project = get(context.conn, Project, agent.project_id)
    _refuse_background(project, agent.name)
    server, session = _session(home, project)
    # A new server gives the same ids to other windows: the name has to fit as well.
    found = tmux(server, "display-message", "-p", "-t", agent.window or "@none", "#{session_id} #{window_name}")
    if agent.window is None or found.strip() != f"{session} {_window_name(agent)}":
        raise RefusedError(f"{agent.name} has no window any more", fix=f"herdr logs {agent.name}")
    tmux(server, "select-window", "-t", agent.window)
    return server, session


def _refuse_background(project: Project, agent: str) -> None:
    from herdr.ops.status_snapshot import in_background

    if in_background(project):
        where = f'the agents of {project.name} run in the background (runtime = "subprocess")'
        raise RefusedError(f"there is nothing to attach to: {where}", fix=f"herdr logs {agent}")


def _window_name(agent: Agent) -> str:
    return f"{agent.role}-{agent.id}"


def _session(home: Home, project: Project) -> tuple[TmuxServer, str]:
    from herdr.cli.fleet import session_of, tmux_of

    server = tmux_of(home, project)
    session = session_of(server, project)
    if session is None:
        raise HerdrError(f"{project.name} has no tmux session", fix=f"herdr up {shlex.quote(project.path)}")
    return server, session


def _show(server: TmuxServer, session: str) -> None:
    from herdr.mux.attach import attach_command, plan_attach

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(shlex.join(attach_command(server, session)))
        return
    plan = plan_attach(server, session, os.environ)
    if plan.show:
        click.echo(f"you are in a tmux of your own; in a terminal outside of it:\n  {plan.show}")
        return
    sys.stdout.flush()
    os.execvpe(plan.argv[0], plan.argv, dict(plan.environ))  # noqa: S606 - tmux takes over this terminal
