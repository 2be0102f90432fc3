"""Windows and panes, one of each per agent: opened, listed, named and closed by their ids."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

import anyio
import msgspec

from herdr.mux.control import ControlClient
from herdr.mux.errors import TmuxError
from herdr.mux.quote import escape_format, label

#: Marks the windows that herdr opened; others are the person's own.
AGENT_OPTION = "@herdr_agent"
#: How many windows of ended agents are kept to look at.
KEPT_ENDED = 10
#: Seconds for a new pane's process to be in its directory.
CHDIR_PATIENCE = 2.0

_FIELDS = (
    "#{pane_id}", "#{window_id}", "#{session_id}", "#{pane_pid}", "#{pane_dead}", "#{pane_dead_status}",
    "#{pane_dead_time}", "#{pane_in_mode}", f"#{{?{AGENT_OPTION},1,0}}", "#{window_name}",
    "#{pane_start_command}", "#{pane_current_path}", "#{pane_title}",
)  # fmt: skip


class PaneInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What tmux knows about a pane.

    `in_mode` is set while a person scrolls in it; `agent` when herdr opened it; `dead` once its process has
    ended, with the exit `status`, or None when a signal ended it, at `ended` in seconds since the epoch. Those
    are None and 0 until tmux has reaped the process (3.3 can miss one until another ends; 3.2 never tells the
    time). `start_command` is the argv as tmux writes it.
    """

    pane: str
    window: str
    session: str
    pid: int
    dead: bool
    status: int | None
    ended: int
    in_mode: bool
    agent: bool
    name: str
    start_command: str
    path: str
    title: str


async def open_window(
    client: ControlClient, name: str, cwd: Path, argv: Sequence[str], *, width: int, height: int
) -> tuple[str, str]:
    """Open a window in the client's session, not in front, with a process in it that no shell touches.

    Args:
        client: the control client of the session.
        name: what people see; any text, cut to one short line.
        cwd: the directory that the process starts in.
        argv: the program and its arguments, passed on byte for byte; about 16 kB in all.
        width: columns, kept whatever terminal attaches.
        height: rows, likewise.

    Returns:
        The `@window` and the `%pane`.

    Raises:
        TmuxError: the directory is missing, or tmux refused. tmux itself would start the process elsewhere.
    """
    if not cwd.is_dir():
        raise TmuxError(
            f"the directory {cwd} does not exist", fix="start the run again to make its worktree anew"
        )
    # tmux gives a lone word to a shell.
    words = list(argv) if len(argv) > 1 else ["/bin/sh", "-c", 'exec "$0"', *argv]
    title = escape_format(_window_name(name))
    target = ("-t", f"{client.session}:", "-n", title, "-c", escape_format(str(cwd)))
    (line,) = await client.run("new-window", "-d", "-P", "-F", "#{window_id} #{pane_id}", *target, "--", *words)
    window, pane = line.split(" ")
    # Setting a size makes it manual, so that nobody who attaches changes it.
    await client.run_many(
        [
            ("resize-window", "-t", window, "-x", str(width), "-y", str(height)),
            ("set-option", "-w", "-t", window, AGENT_OPTION, "1"),
        ]
    )
    try:
        await _verify_directory(client, pane, cwd)
    except TmuxError:
        await kill_window(client, window)
        raise
    return window, pane


async def kill_window(client: ControlClient, window: str) -> None:
    """Close a window; what still runs in it gets a hangup. One that is gone already is no error.

    Args:
        client: the control client of the session.
        window: the `@window`.
    """
    try:
        await client.run("kill-window", "-t", window)
    except TmuxError as error:
        if "can't find" not in error.message:
            raise


async def list_panes(client: ControlClient) -> list[PaneInfo]:
    """List every pane of the session, in one call."""
    # Paths and titles can hold any character, so a random word that is in none of them separates the fields.
    mark = f"|{secrets.token_hex(8)}|"
    fmt = "".join([field + mark for field in _FIELDS])
    lines = await client.run("list-panes", "-s", "-t", client.session, "-F", fmt)
    values = "\n".join(lines).split(mark)
    size = len(_FIELDS)
    return [_pane_info(values[at : at + size]) for at in range(0, len(values) - 1, size)]


async def set_title(client: ControlClient, pane: str, title: str) -> None:
    """Give a pane a title, any text cut to one short line; its program may change it later.

    Args:
        client: the control client of the session.
        pane: the `%pane`.
        title: any text.
    """
    await client.run("select-pane", "-t", pane, "-T", escape_format(label(title)))


async def prune_ended(client: ControlClient, keep: int = KEPT_ENDED) -> list[str]:
    """Close the oldest windows of ended agents, but the `keep` newest; a person's own windows stay.

    Args:
        client: the control client of the session.
        keep: how many windows of ended agents stay to be looked at.

    Returns:
        The windows that were closed.
    """
    panes = await list_panes(client)
    living = {pane.window for pane in panes if not pane.dead}
    ended = [pane for pane in panes if pane.agent and pane.window not in living]
    oldest_first = sorted(ended, key=lambda pane: (pane.ended or math.inf, int(pane.window[1:])))
    closed = list(dict.fromkeys(pane.window for pane in oldest_first[: max(0, len(ended) - keep)]))
    for window in closed:
        await kill_window(client, window)
    return closed


async def _verify_directory(client: ControlClient, pane: str, cwd: Path) -> None:
    """Wait until the pane's process is in `cwd`, or has ended; the fork is there before its chdir."""
    wanted, path = os.path.realpath(cwd), ""
    with anyio.move_on_after(CHDIR_PATIENCE):
        while True:
            lines = await client.run("display-message", "-p", "-t", pane, "#{pane_dead} #{pane_current_path}")
            # A path can hold a line end.
            dead, path = "\n".join(lines).split(" ", 1)
            if dead == "1" or (path and os.path.realpath(path) == wanted):
                return
            await anyio.sleep(0.005)
    raise TmuxError(f"tmux started the agent in {path or 'an unknown directory'} instead of {cwd}")


def _window_name(name: str) -> str:
    """A name without `.` and `:`, which tmux 3.7 refuses."""
    return label(name).replace(".", "_").replace(":", "_") or "agent"


def _pane_info(fields: Sequence[str]) -> PaneInfo:
    pane, window, session, pid, dead, status, ended, in_mode, agent, name, command, path, title = fields
    return PaneInfo(
        pane=pane.strip(), window=window, session=session, pid=int(pid), dead=dead == "1",
        status=int(status) if status else None, ended=int(ended or 0), in_mode=in_mode != "0", agent=agent == "1",
        name=name, start_command=command, path=path, title=title,
    )  # fmt: skip
