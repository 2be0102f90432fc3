"""How processes end: noticing it at once, and ending an agent with everything that it started."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from herdr.runtime import cgroup, kernel
from herdr.runtime.api import Process
from herdr.runtime.kernel import LINUX
from herdr.runtime.launchfile import revoke_launch, wait_started
from herdr.runtime.processes import alive, belongs, is_forked, snapshot

#: Seconds between looks where the system cannot tell us.
LOOK = 0.2
#: Seconds between looks at processes that were just sent a signal.
SHORT_LOOK = 0.02
#: Seconds from the first SIGKILL until what is still there is given up: it hangs in the kernel, out of reach.
KILL_LIMIT = 10.0
#: Seconds that a wrapper gets to record what its harness is, or how it ended; normally some milliseconds.
WRAPPER_LIMIT = 5.0


async def wait_end(process: Process) -> None:
    """Return as soon as the process has ended: at once by its pidfd, within 0.2 s where there is none."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        while alive(process):
            await anyio.sleep(LOOK)
        return
    loop, ended = asyncio.get_running_loop(), anyio.Event()
    try:
        # Only now is it certain that the descriptor is of this process and not of a later one.
        if alive(process):
            loop.add_reader(descriptor, ended.set)
            try:
                await ended.wait()
            finally:
                loop.remove_reader(descriptor)
    finally:
        os.close(descriptor)


async def end_agent(agent: str, state_dir: Path, *, grace: float = 5.0) -> set[Process]:
    """End an agent however far it has come, with everything it started, and have its end recorded.

    One that is not started yet never will be. Also for what an agent left that has ended by itself.

    Args:
        agent: the agent's mark, see `processes.mark`.
        state_dir: the agent's state directory.
        grace: seconds between SIGTERM and SIGKILL.

    Returns:
        The processes that could not be ended, normally none.
    """
    if revoke_launch(state_dir):
        return set()
    process = await wait_started(state_dir, WRAPPER_LIMIT)
    if process is None:
        return await end_tree_in_thread(agent, grace=grace)
    above, group = (process.wrapper,), process.group
    left = await end_tree_in_thread(agent, (process.child,), above=above, group=group, grace=grace)
    if process.child not in left:
        await _end_wrapper(process.wrapper)
    return left


async def _end_wrapper(wrapper: Process) -> None:
    """Wait until the wrapper, below which nothing lives any more, has ended too; one that cannot is killed."""
    for number in (signal.SIGCONT, signal.SIGKILL, None):
        with anyio.move_on_after(WRAPPER_LIMIT):
            await wait_end(wrapper)
            return
        if number is not None:
            _send(wrapper, number)


async def end_tree_in_thread(
    agent: str,
    roots: Iterable[Process] = (),
    *,
    above: Iterable[Process] = (),
    group: str | None = None,
    grace: float = 5.0,
) -> set[Process]:
    """`end_tree` without blocking the loop; once begun it is finished, even if the caller is cancelled.

    Args:
        agent: see `end_tree`.
        roots: see `end_tree`.
        above: see `end_tree`.
        group: see `end_tree`.
        grace: see `end_tree`.
    """
    end = partial(end_tree, agent, tuple(roots), above=tuple(above), group=group, grace=grace)
    return await anyio.to_thread.run_sync(end)


def end_tree(
    agent: str,
    roots: Iterable[Process] = (),
    *,
    above: Iterable[Process] = (),
    group: str | None = None,
    grace: float = 5.0,
) -> set[Process]:
    """End all processes of an agent, politely first, and return those that could not be ended (normally none).

    A process that was seen to be the agent's once stays so when its parent dies and it is handed to init, so one
    that calls setsid, ignores SIGHUP and SIGTERM or goes on forking is ended too.

    Args:
        agent: the agent's mark, see `processes.mark`.
        roots: the harness's process. Not the wrapper: it has to stay to record how the harness ended.
        above: the wrapper: what is below it is ended, and it is not. See `processes.belongs`.
        group: the folder of the agent's control group, which is removed; None for none.
        grace: seconds between SIGTERM and SIGKILL.
    """
    tree = _Tree(agent, set(roots), tuple(above), group)
    asked: set[Process] = set()
    deadline = time.monotonic() + grace
    fresh: set[Process] = set()
    while (members := tree.members()) and time.monotonic() < deadline:
        fresh = {process for process in members - asked - fresh if is_forked(process)}
        for process in members - asked - fresh:
            _send(process, signal.SIGTERM)
            _send(process, signal.SIGCONT)  # a stopped process gets its SIGTERM only then
            asked.add(process)
        _wait(members, min(deadline, time.monotonic() + LOOK))
    deadline = time.monotonic() + KILL_LIMIT
    while members and time.monotonic() < deadline:
        tree.kill(deadline)
        _wait(members, min(deadline, time.monotonic() + LOOK))
        members = tree.members()
    if group is not None:
        cgroup.remove(group)
    return members


class _Tree:
    """The processes of an agent, those among them that were seen to be its own once, and how to kill them."""

    def __init__(self, agent: str, known: set[Process], above: Sequence[Process], group: str | None) -> None:
        self._agent, self._known, self._above, self._group = agent, known, above, group

    def members(self) -> set[Process]:
        """Those that are alive."""
        # What was forked while a scan was under way is not in it, so one empty scan proves nothing.
        members = self._look() or self._look()
        self._known |= members
        return members

    def _look(self) -> set[Process]:
        inside = cgroup.pids(self._group) if self._group is not None else []
        return belongs(snapshot(), self._agent, self._known, self._above, inside)

    def kill(self, deadline: float) -> None:
        """Kill all, after they were stopped: what is stopped cannot fork away from the kill."""
        if self._group is not None:
            cgroup.kill(self._group)
        for process in self._frozen(deadline):
            _send(process, signal.SIGKILL)

    def _frozen(self, deadline: float) -> set[Process]:
        """Stop all members until a scan finds no new one."""
        frozen: set[Process] = set()
        while (members := self.members()) - frozen and time.monotonic() < deadline:
            for process in members - frozen:
                _send(process, signal.SIGSTOP)
            frozen |= members
        for process in frozen - members:
            _send(
                process, signal.SIGCONT
            )  # it was only just forked, and became another agent's before it stopped
        return members


def _wait(processes: set[Process], until: float) -> None:
    while time.monotonic() < until and any(alive(process) for process in processes):
        time.sleep(SHORT_LOOK)


def _send(process: Process, number: signal.Signals) -> None:
    """Signal this very process, or nothing when it is gone: a pidfd never means a later process of that pid."""
    if LINUX:
        kernel.send(process.pid, process.started, number)
        return
    with suppress(ProcessLookupError, PermissionError):
        if alive(process):
            os.kill(process.pid, number)
