"""`herdr attach`: shows the agents, with plain tmux."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from herdr.cli.asking import home_for_people
from herdr.control.projects import project_named
from herdr.control.sessions import find_session, refuse_background, turn_to
from herdr.home import Home

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

    Args:
        home: where the project is registered.
        name: the project's name or path; None for the one around.

    Raises:
        HerdrError: the project has no session.
        RefusedError: its agents run in the background.
    """
    project = project_named(home, name)
    refuse_background(project, "worker#N")
    _show(*find_session(home, project))


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
