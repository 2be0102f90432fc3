"""How a person gets to see the agents, with plain tmux."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import msgspec

from herdr.mux.server import TmuxServer


class Attach(msgspec.Struct, frozen=True, kw_only=True):
    """What to do so that a person sees a session: run `argv`, or `show` a command for them to type.

    `environ` is what to run it with.
    """

    argv: tuple[str, ...]
    environ: Mapping[str, str]
    show: str = ""


def attach_command(server: TmuxServer, session: str) -> list[str]:
    """Give the plain tmux command that attaches a terminal to a session.

    Args:
        server: the tmux server of the project.
        session: the session's `$id`.
    """
    return [*server.argv, "attach-session", "-t", session]


def plan_attach(server: TmuxServer, session: str, environ: Mapping[str, str]) -> Attach:
    """Decide how a person in this environment attaches.

    In a terminal of its own: attach. Inside our own server: switch that client over. Inside the person's own
    tmux: show the command instead, because nested sessions fight over keys.

    Args:
        server: the tmux server of the project.
        session: the session's `$id`.
        environ: the person's own environment; its TMUX says whether they are inside tmux already, and in which.
    """
    command = attach_command(server, session)
    outer = environ.get("TMUX", "").split(",")[0]
    if not outer:
        return Attach(argv=tuple(command), environ=dict(environ))
    if Path(outer).resolve() == server.socket_path.resolve():
        return Attach(argv=(*server.argv, "switch-client", "-t", session), environ=dict(environ))
    show = f"env -u TMUX {shlex.join(command)}"
    return Attach(argv=(), environ={}, show=show)
