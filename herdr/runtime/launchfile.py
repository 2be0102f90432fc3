"""The files through which the daemon and an agent's wrapper talk: what to start, which process, how it ended."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import anyio
import msgspec

from herdr.errors import HerdrError, RefusedError
from herdr.home import atomic_write, disk_error
from herdr.runtime import wrapper
from herdr.runtime.api import AgentProcess, Exit, LaunchRequest, Process
from herdr.runtime.cgroup import group_for
from herdr.runtime.kernel import boot_id
from herdr.runtime.processes import MARK

LAUNCH, TAKEN, REVOKED = "launch.json", "launch.taken", "launch.revoked"
#: -I and -S: nothing of the user's Python can get into an agent's way, and it starts in a fifth of the time.
#: UTF-8 whatever the locale, so that arguments are passed on byte for byte.
WRAPPER = (sys.executable, "-I", "-S", "-X", "utf8", wrapper.__file__)
#: Seconds between looks for the wrapper's answer, which takes it some 30 ms.
LOOK = 0.01

T = TypeVar("T")


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a wrapper comes from.

    Attributes:
        boot: the boot in which it ran, see `kernel.boot_id`.
        parent: what had started it: the tmux server, or the daemon for one without a terminal. None when it was
            gone by then, and where the system does not say when a process started.
    """

    boot: str
    parent: Process | None = None


class _PidFile(AgentProcess, frozen=True, kw_only=True):
    boot: str


def wrapper_argv(request: LaunchRequest) -> tuple[str, ...]:
    """The argv of the wrapper that takes this request's launch file."""
    return (*WRAPPER, "--agent", str(request.agent_id), "--dir", str(request.state_dir))


def write_launch(request: LaunchRequest) -> None:
    """Put the launch file in the agent's state directory, for its wrapper alone to take.

    Raises:
        RefusedError: this agent was launched or revoked before; a new start needs a new agent.
        HerdrError: the request cannot be started as it is, or the file cannot be written.
    """
    words = [*request.argv, *request.env, *request.env.values(), str(request.cwd)]
    if not request.argv or any("\0" in word for word in words):
        raise HerdrError(
            f"agent {request.agent_id} cannot be started: its command is empty or holds a NUL character",
            fix="correct the command of its harness in piloop.toml",
        )
    directory = request.state_dir
    launch = {
        "argv": list(request.argv),
        "env": dict(request.env),
        "clear": list(request.clear),
        "cwd": str(request.cwd),
        "group": group_for(request.env.get(MARK, "")),
    }
    if any((directory / name).exists() for name in (LAUNCH, TAKEN, REVOKED)):
        raise RefusedError(f"agent {request.agent_id} was launched before: {directory}", fix="start a new agent")
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        directory.chmod(0o700)
    except OSError as error:
        raise disk_error(error, directory) from error
    # As ASCII with escapes, which carries file names that are not UTF-8 as well.
    atomic_write(directory / LAUNCH, json.dumps(launch))


def revoke_launch(state_dir: Path) -> bool:
    """Take the launch back; True when the agent was never started and never will be, False when it was.

    Either this or the wrapper gets the file, by the same rename, so the answer is exact at any moment, and the
    same when asked again.
    """
    with suppress(FileNotFoundError):
        (state_dir / LAUNCH).rename(state_dir / REVOKED)
        # The empty file stays as the mark that it was revoked; its content, which has secrets, goes.
        (state_dir / REVOKED).write_bytes(b"")
    return not (state_dir / TAKEN).exists()


def read_process(state_dir: Path) -> AgentProcess | None:
    """The agent's processes as its wrapper recorded them; None before that, and after a reboot."""
    found = _read(state_dir / "pid.json", _PidFile)
    if found is None or found.boot != boot_id():
        return None
    return AgentProcess(wrapper=found.wrapper, child=found.child, group=found.group)


def read_origin(state_dir: Path) -> Origin | None:
    """Where the agent's wrapper comes from, as it recorded it, also after a reboot; None before that."""
    return _read(state_dir / "pid.json", Origin)


async def wait_started(state_dir: Path, timeout: float) -> AgentProcess | None:
    """Wait until the wrapper has recorded its processes; None when it never did, or not in `timeout` seconds.

    Args:
        state_dir: the agent's state directory.
        timeout: seconds.
    """
    with anyio.move_on_after(timeout):
        while read_exit(state_dir) is None:
            process = read_process(state_dir)
            if process is not None:
                return process
            await anyio.sleep(LOOK)
    return read_process(state_dir)


def read_exit(state_dir: Path) -> Exit | None:
    """How the agent ended; None while it runs, and when it was lost before that could be recorded."""
    return _read(state_dir / "exit.json", Exit)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
