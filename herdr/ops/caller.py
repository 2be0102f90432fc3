"""Who typed a command: a person, or a process of an agent that has lost what an agent signs with.

An agent's own `piloop` signs by a mailbox and a token. A process of an agent that has neither (`env -i piloop …`,
a cleaned-up environment) must not pass for the person. So the process and those that started it are looked at:
what herdr starts has a mark in its environment, and an agent's first process is one of ours.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from herdr.errors import RefusedError
from herdr.home import Home
from herdr.runtime import guard, wrapper
from herdr.runtime.processes import MARK

#: Variables that only processes of agents and of scorings have.
SIGNS = (MARK, "PILOOP_ACTOR")
FIX = "an agent calls piloop from its own shell; a person uses a shell that no agent has started"
#: How the paths of the programs end that start agents and scorings, and a word that follows each.
STARTERS = {
    b"/runtime/" + os.fsencode(Path(wrapper.__file__).name): b"--agent",
    b"/runtime/" + os.fsencode(Path(guard.__file__).name): b"--report",
}
PROC = Path("/proc")


class _Process(msgspec.Struct, frozen=True, kw_only=True):
    pid: int
    parent: int
    environ: bytes
    argv: tuple[bytes, ...]


def refuse_agent(environ: Mapping[str, str], what: str) -> None:
    """Make sure that no process of an agent asks.

    Args:
        environ: the asker's environment.
        what: what is asked for, as in "may not use …".

    Raises:
        RefusedError: it is an agent's process; says how that is known.
    """
    sign = agents_sign(environ)
    if sign is not None:
        raise RefusedError(f"an agent without its token may not use {what}: {sign}", fix=FIX)


def agents_sign(environ: Mapping[str, str]) -> str | None:
    """How it is known that an agent's process asks; None when nothing says so.

    Without /proc only the environment itself is looked at.

    Args:
        environ: the asker's environment.
    """
    for name in SIGNS:
        if environ.get(name):
            return f"{name} is set"
    for process in _ancestors(os.getppid()):
        for name in SIGNS:
            if b"\0" + name.encode() + b"=" in b"\0" + process.environ:
                return f"process {process.pid}, from which it was started, has {name}"
        if _starts_agents(process.argv):
            return f"process {process.pid}, from which it was started, is what herdr starts agents by"
    return None


def _starts_agents(argv: Sequence[bytes]) -> bool:
    return any(option in argv and any(word.endswith(path) for word in argv) for path, option in STARTERS.items())


def refuse_place(home: Home, folder: Path, what: str) -> None:
    """Make sure that whoever asks for a change does not stand in the folder of an agent or of a scoring.

    There a person is asked to say that they are one: nothing else tells them from an agent's stray process.

    Args:
        home: whose agents.
        folder: where the command was typed.
        what: what is asked for.

    Raises:
        RefusedError: it is such a folder.
    """
    place = _place(home, folder)
    if place is not None:
        raise RefusedError(
            f"{folder} is in {place}, and from there {what} is left to a person",
            fix="cd to another folder, or say that you are the person: --as-person",
        )


def _place(home: Home, folder: Path) -> str | None:
    here = folder.resolve()
    for ours in ("evaluations", "repositories"):
        if here.is_relative_to((home.root / ours).resolve()):
            return f"a folder that herdr keeps for agents and scorings, {home.root / ours}"
    # A link that an agent put in the place of its worktree makes nothing else a worktree.
    places = ((path, path.parent.resolve() / path.name) for path in _worktrees(home))
    return next((f"the worktree {path}" for path, place in places if here.is_relative_to(place)), None)


def _worktrees(home: Home) -> list[Path]:
    """The folders of all runs and sweeps, whether or not they still run."""
    from herdr.store.connection import open_store

    if not home.database.exists():
        return []
    store = open_store(home.database, mode="read", actor="human")
    try:
        known = "SELECT worktree FROM runs WHERE worktree IS NOT NULL UNION SELECT worktree FROM sweeps"
        return [Path(row[0]) for row in store.execute(known) if row[0]]
    finally:
        store.close()


def _ancestors(pid: int) -> Iterator[_Process]:
    seen: set[int] = set()
    while pid > 0 and pid not in seen:
        seen.add(pid)
        process = _look(pid)
        if process is None:
            return
        yield process
        pid = process.parent


def _look(pid: int) -> _Process | None:
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        argv = (PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return None
    try:
        environ = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        environ = b""  # another user's, so no agent's
    return _Process(pid=pid, parent=int(fields[1]), environ=environ, argv=tuple(argv))
