"""The tmux servers and sessions that agents are in, as a person's programs find them."""

from __future__ import annotations

import os
import shlex
import subprocess
from typing import TYPE_CHECKING

from herdr.control.projects import reading
from herdr.errors import HerdrError, RefusedError
from herdr.home import Home
from herdr.store.rows import Agent, Project, get

if TYPE_CHECKING:
    from herdr.mux.server import TmuxServer


def tmux_of(home: Home, project: Project) -> TmuxServer:
    """The tmux server that a project's agents are in.

    Args:
        home: the daemon's home, whose socket is used where piloop.toml names none.
        project: the project.
    """
    from herdr.config import Config
    from herdr.mux.server import TmuxServer

    tmux = Config.from_json(project.config).tmux
    return TmuxServer(tmux.socket or home.socket_name, home.tmux_conf, os.environ, history=tmux.history)


def session_of(server: TmuxServer, project: Project) -> str | None:
    """The `$id` of a project's session, told by the mark that herdr put on it.

    Args:
        server: the server that the project's agents are in.
        project: the project.
    """
    import urllib.parse

    from herdr.mux.server import PROJECT_OPTION

    if not server.alive():
        return None
    key = urllib.parse.quote(project.name, safe="")
    for line in tmux(server, "list-sessions", "-F", f"#{{session_id}} #{{{PROJECT_OPTION}}}").splitlines():
        session, _, owner = line.partition(" ")
        if owner == key:
            return session
    return None


def tmux(server: TmuxServer, *words: str) -> str:
    """Run one tmux command and return what it printed; "" when tmux refused it.

    Args:
        server: where.
        words: the command with its arguments.

    Raises:
        TmuxMissingError: there is no tmux.
    """
    from herdr.mux.server import TmuxMissingError

    argv = [*server.argv, *words]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", check=False, env=server.environ
        )
    except FileNotFoundError as error:
        raise TmuxMissingError from error
    return done.stdout if done.returncode == 0 else ""


def find_session(home: Home, project: Project) -> tuple[TmuxServer, str]:
    """The server and the `$id` of a project's session.

    Args:
        home: the daemon's home.
        project: the project.

    Raises:
        HerdrError: it has none, most often because no daemon has opened it.
    """
    server = tmux_of(home, project)
    session = session_of(server, project)
    if session is None:
        raise HerdrError(f"{project.name} has no tmux session", fix=f"herdr up {shlex.quote(project.path)}")
    return server, session


def refuse_background(project: Project, agent: str) -> None:
    """Refuse to show what is not in tmux.

    Args:
        project: whose agents somebody wants to see.
        agent: what the advice names, as `worker#3`.

    Raises:
        RefusedError: its agents run in the background.
    """
    from herdr.ops.stored_config import in_background

    if in_background(project):
        where = f'the agents of {project.name} run in the background (runtime = "subprocess")'
        raise RefusedError(f"there is nothing to attach to: {where}", fix=f"herdr logs {agent}")


def turn_to(home: Home, name: str) -> tuple[TmuxServer, str]:
    """Turn an agent's session to its window, and return the server and the session.

    Args:
        home: the home that the agent is of.
        name: the agent, as `worker#3`.

    Raises:
        RefusedError: it has no window, or runs in the background.
        HerdrError: there is no such agent, or its project has no session.
    """
    from herdr.ops.look import look_agent

    with reading(home) as context:
        agent = look_agent(context, name)
        project = get(context.conn, Project, agent.project_id)
    refuse_background(project, agent.name)
    server, session = find_session(home, project)
    # A new server gives the same ids to other windows: the name has to fit as well.
    found = tmux(server, "display-message", "-p", "-t", agent.window or "@none", "#{session_id} #{window_name}")
    if agent.window is None or found.strip() != f"{session} {_window_name(agent)}":
        raise RefusedError(f"{agent.name} has no window any more", fix=f"herdr logs {agent.name}")
    tmux(server, "select-window", "-t", agent.window)
    return server, session


def _window_name(agent: Agent) -> str:
    return f"{agent.role}-{agent.id}"
