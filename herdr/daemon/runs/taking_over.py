"""Takes over an agent's commits while it works, so that what it does to its repository later loses none."""

from __future__ import annotations

import logging

import anyio
import anyio.to_thread

from herdr.daemon.app_context import AppContext, Fleet
from herdr.daemon.runs.folders import folder_of_run
from herdr.daemon.runs.post_mortem import collect
from herdr.daemon.runs.telling import note_once
from herdr.store.rows import Run, get

log = logging.getLogger("herdr.daemon")

#: Seconds between looks whether HEAD or a branch has moved; each is a few stats.
LOOK = 0.5
#: Seconds from the beginning of one taking over to the next.
PAUSE = 1.0


async def take_over_at_work(app: AppContext, fleet: Fleet, run_id: int, over: anyio.Event) -> None:
    """Take over a run's commits whenever HEAD or a branch of its repository has moved, until its agent has ended.

    What fails here is tried again at the next move, and once more when the agent has ended.

    Args:
        app: the daemon.
        fleet: the project.
        run_id: the run.
        over: set when the agent has ended.
    """
    run = get(app.store, Run, run_id)
    folder = folder_of_run(app, fleet, run)
    seen: tuple[int, ...] | None = None
    while not over.is_set():
        begun = anyio.current_time()
        try:
            now = await anyio.to_thread.run_sync(folder.version, abandon_on_cancel=True)
            if now != seen:
                problems, failed = await collect(app, run, folder)
                seen = now if not failed else None
                note_once(app, run, problems)
                pause = PAUSE
            else:
                pause = LOOK
        except Exception:
            log.exception("run#%s: cannot take over what its agent commits", run_id)
            pause = PAUSE
        await anyio.sleep(max(begun + pause - anyio.current_time(), 0.0) or LOOK)
