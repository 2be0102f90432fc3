"""`herdr attach`: shows the agents, with plain tmux."""

from __future__ import annotations

import os
import shlex
import sys

import click

from herdr.cli.asking import home_for_people
from herdr.errors import HerdrError, RefusedError
from herdr.home import Home
from herdr.store.rows import Agent, Project, get


@click.command()
@click.argument("what", required=False, metavar="[WORKER|PROJECT]")
def attach(what: str | None) -> None:
    """Attach this terminal to the fleet's tmux session, at the window of WORKER if one is named.

    Look, scroll, even type; leave with Ctrl-b d. Inside your own tmux, or without a terminal, it prints the
    command instead.
    """
    home = home_for_people("attach")
    if what is not None and ("#" in what or what.isdigit()):
        _attach_to_agent(home, what)
    else:
        attach_to(home, what)


def attach_to(home: Home, name: str | None) -> None:
    """Attach to a project's session; returns only where the command is printed instead.

    Raises:
        HerdrError: the project has no session.
    """
    from herdr.cli.projects import project_named

    project = project_named(home, name)
    _show(home, project, _session(home, project))


def _attach_to_agent(home: Home, name: str) -> None:
    from herdr.cli.fleet import tmux, tmux_of
    from herdr.cli.projects import reading
    from herdr.ops.look import look_agent

    with reading(home) as context:
        agent = look_agent(context, name)
        project = get(context.conn, Project, agent.project_id)
    session = _session(home, project)
    server = tmux_of(home, project)
    # A new server gives the same ids to other windows: the name has to fit as well.
    found = tmux(server, "display-message", "-p", "-t", agent.window or "@none", "#{session_id} #{window_name}")
    if agent.window is None or found.strip() != f"{session} {_window_name(agent)}":
        raise RefusedError(f"{agent.name} has no window any more", fix=f"herdr logs {agent.name}")
    tmux(server, "select-window", "-t", agent.window)
    _show(home, project, session)


def _window_name(agent: Agent) -> str:
    return f"{agent.role}-{agent.id}"


def _session(home: Home, project: Project) -> str:
    from herdr.cli.fleet import session_of, tmux_of

    session = session_of(tmux_of(home, project), project)
    if session is None:
        raise HerdrError(f"{project.name} has no tmux session", fix=f"herdr up {shlex.quote(project.path)}")
    return session


def _show(home: Home, project: Project, session: str) -> None:
    from herdr.cli.fleet import tmux_of
    from herdr.mux.attach import attach_command, plan_attach

    server = tmux_of(home, project)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo(shlex.join(attach_command(server, session)))
        return
    plan = plan_attach(server, session, os.environ)
    if plan.show:
        click.echo(f"you are in a tmux of your own; in a terminal outside of it:\n  {plan.show}")
        return
    sys.stdout.flush()
    os.execvpe(plan.argv[0], plan.argv, dict(plan.environ))  # noqa: S606 - tmux takes over this terminal
