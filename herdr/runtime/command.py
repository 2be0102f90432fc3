"""Runs a command to its end, in no terminal, and leaves nothing of it running: a scoring, the [spend] command."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import anyio

from herdr.runtime.ending import end_tree_in_thread
from herdr.runtime.processes import MARK


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
    """Run a command and return its exit status; None when it took too long.

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
    process = await anyio.open_process(
        list(argv),
        cwd=cwd,
        env={**env, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL if stderr is None else stderr,
        start_new_session=True,
    )
    try:
        with anyio.move_on_after(timeout) as limit:
            await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            await end_tree_in_thread(mark, grace=0)
            await process.wait()
    return None if limit.cancelled_caught else process.returncode
