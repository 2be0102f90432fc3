"""How an agent was lost: which ended without a record of its end."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import anyio

from herdr.runtime.kernel import boot_id
from herdr.runtime.launchfile import Origin, read_origin
from herdr.runtime.processes import alive

#: `wrapper_killed`: it alone, by its agent or by a person; what had started it lives on. `server_gone`: with the
#: tmux server, or the daemon, that had started it. `rebooted`: with the machine.
LostHow = Literal["wrapper_killed", "server_gone", "rebooted"]
#: Seconds that what went together with a wrapper has to be gone too: of two processes that were killed at once
#: one is always noticed first.
TOGETHER = 1.0
LOOK = 0.05


async def lost_how(state_dir: Path, *, seen_alive: bool = False) -> LostHow:
    """Say how an agent was lost whose wrapper has ended and left no record of that.

    Takes up to a second. What is not known counts as `server_gone`: only who is sure is blamed.

    Args:
        state_dir: the agent's state directory.
        seen_alive: whether the caller saw the wrapper alive, and it hung on nothing but the machine: one of the
            runtime `subprocess`, which outlives the daemon that started it.
    """
    origin = read_origin(state_dir)
    if origin is None:
        return "server_gone"
    if origin.boot != boot_id():
        return "rebooted"
    return "wrapper_killed" if seen_alive or await _stays(origin) else "server_gone"


async def _stays(origin: Origin) -> bool:
    """Whether what started the wrapper is still there, a moment after it."""
    if origin.parent is None:
        return False
    with anyio.move_on_after(TOGETHER):
        while alive(origin.parent):
            await anyio.sleep(LOOK)
        return False
    return True
