"""Ends all that is left below this process, which adopts orphans: nothing gets away from it by forking.

For programs that must start fast, see `kernel`.
"""

from __future__ import annotations

import os
import signal
import time

from herdr.runtime import cgroup
from herdr.runtime.kernel import below, send, words

#: Seconds from the first SIGKILL until what is still there is given up: the kernel will not let go of it.
KILL_LIMIT = 10.0
#: Seconds between looks.
LOOK = 0.01
#: How many processes are named in a record.
NAMED = 20


def reap() -> bool:
    """Take in the ends of all children that have ended; False when there is no child, not even a live one.

    What is orphaned below us becomes our child, so that then nothing is below us at all.
    """
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return False
    return True


def end_below(grace: float, group: str | None = None) -> list[str]:
    """End all that is below this process: politely first, then by force; it never takes for ever.

    Args:
        grace: seconds between SIGTERM and SIGKILL.
        group: the folder of their control group; None for none.

    Returns:
        What had to be ended, in words, each with its pid.
    """
    begin = time.monotonic()
    asked: dict[int, float] = {}
    named: dict[int, str] = {}
    while reap() and time.monotonic() - begin < grace + KILL_LIMIT:
        found = below(os.getpid())
        for pid in found.keys() - named.keys():
            named[pid] = f"{words(pid)} ({pid})"
        if time.monotonic() - begin < grace:
            for pid, started in found.items() - asked.items():
                send(pid, started, signal.SIGTERM)
                send(pid, started, signal.SIGCONT)  # a stopped process gets its SIGTERM only then
            asked = found
        else:
            _kill(found, group)
        time.sleep(LOOK)
    if group is not None:
        cgroup.kill(group)
        cgroup.remove(group)
    return list(named.values())[:NAMED]


def _kill(found: dict[int, float], group: str | None) -> None:
    """Kill all, after all were stopped: what is stopped cannot fork away from the kill."""
    if group is not None:
        cgroup.kill(group)
    frozen: dict[int, float] = {}
    limit = time.monotonic() + KILL_LIMIT
    while found.items() - frozen.items() and time.monotonic() < limit:
        for pid, started in found.items() - frozen.items():
            send(pid, started, signal.SIGSTOP)
        frozen |= found
        found = below(os.getpid())
    for pid, started in frozen.items():
        send(pid, started, signal.SIGKILL)
