"""Runs a command to its end, in no terminal, and leaves nothing of it running: a scoring, the [spend] command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import anyio
from anyio.abc import Process as Opened

from herdr.runtime import guard
from herdr.runtime.api import Process
from herdr.runtime.cgroup import group_for
from herdr.runtime.ending import end_tree_in_thread
from herdr.runtime.kernel import start_time
from herdr.runtime.processes import MARK

#: See `launchfile.WRAPPER`.
GUARD = (sys.executable, "-I", "-S", "-X", "utf8", guard.__file__, "--report")


async def run_marked(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    mark: str,
    timeout: float,
    stdout: IO[bytes],
    stderr: IO[bytes] | None = None,
) -> int | None:
    """Run a command and return its exit status, or minus the number of its signal; None when it took too long.

    It and all that it started are killed when it has ended, when it is too slow, and when we are cancelled.

    Args:
        argv: the command.
        cwd: where it runs.
        env: its whole environment, without the mark.
        mark: tells its processes from all others, see `runtime.processes`.
        timeout: how many seconds it may take.
        stdout: a file for what it prints.
        stderr: a file for its complaints; nobody reads them when None.

    Raises:
        OSError: it cannot be started.
    """
    group = group_for(mark)
    reader, writer = os.pipe()
    try:
        process = await anyio.open_process(
            [*GUARD, str(writer), group or "-", *argv],
            cwd=cwd,
            env={**env, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.DEVNULL if stderr is None else stderr,
            start_new_session=True,
            pass_fds=(writer,),
        )
        above = Process(pid=process.pid, started=start_time(process.pid) or 0.0)
        try:
            with anyio.move_on_after(timeout) as limit:
                await process.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await end_tree_in_thread(mark, above=(above,), group=group, grace=0)
                await process.wait()
        return None if limit.cancelled_caught else _status(_report(reader), process, argv)
    finally:
        os.close(reader)
        os.close(writer)


def _report(reader: int) -> list[bytes]:
    """What the guard wrote: nothing when it was killed."""
    os.set_blocking(reader, False)
    try:
        return os.read(reader, 64).split()
    except BlockingIOError:
        return []


def _status(report: Sequence[bytes], guard: Opened, argv: Sequence[str]) -> int | None:
    match report[:2]:
        case [b"errno", number]:
            raise OSError(int(number), os.strerror(int(number)), argv[0])
        case [b"status", number]:
            return int(number)
        case [b"signal", number]:
            return -int(number)
    return guard.returncode
