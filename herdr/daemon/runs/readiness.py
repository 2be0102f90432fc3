"""Runs the `[setup]` command in the folder of a run or a sweep, before an agent is started there."""

from __future__ import annotations

from pathlib import Path

import anyio
import anyio.to_thread

from herdr.daemon.app_context import AppContext, Fleet, Work, base_environment, log
from herdr.daemon.launch_block import launch_block
from herdr.repo.run_folder import RunFolder
from herdr.runtime.processes import mark
from herdr.scoring.measure import evaluator_environment
from herdr.scoring.set_up import Command, SetUpError, set_up
from herdr.store.rows import get

#: How many files are named.
NAMED = 5
#: Seconds between two looks whether the work is to end, where nobody tells.
QUIET = 10.0


async def make_ready(app: AppContext, fleet: Fleet, work: Work, folder: RunFolder) -> None:
    """Run the set-up command of a project, if it has one, in a furnished folder.

    It is broken off when the work is cancelled, or the project stops; whoever launches next sees that too.

    Args:
        app: the daemon.
        fleet: the project.
        work: the run or the sweep.
        folder: the folder of a run or a sweep.

    Raises:
        SetUpError: it failed, or leaves what would be taken for the agent's work.
    """
    settings = fleet.config.setup
    if settings is None:
        return
    before = await anyio.to_thread.run_sync(folder.uncommitted)
    env = evaluator_environment(base_environment(), fleet.config.evaluate_env)
    own = mark(app.home, f"setup-{folder.name}")
    command = Command(argv=settings.command, timeout=settings.timeout, env=env, mark=own)
    seconds = await _unless_ended(app, work, command, folder.place.worktree)
    if seconds is None:
        return
    log.info("project %s: [setup] took %.1f s in %s", fleet.name, seconds, folder.place.worktree.name)
    if before:
        return
    left = await anyio.to_thread.run_sync(folder.uncommitted)
    if left:
        more = f" and {len(left) - NAMED} more" if len(left) > NAMED else ""
        named = f"{', '.join(left[:NAMED])}{more}"
        said = f"[setup] {' '.join(settings.command)} leaves what git takes for the agent's work: {named}"
        raise SetUpError(f"{said}. Name it in .gitignore, or use a command that leaves committed files alone")


async def _unless_ended(app: AppContext, work: Work, command: Command, worktree: Path) -> float | None:
    """How many seconds the command took; None when it was broken off because the work is to end."""
    seconds: float | None = None
    failure: SetUpError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch, app, work, tasks.cancel_scope)
        try:
            seconds = await set_up(command, worktree)
        except SetUpError as error:
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return seconds


async def _watch(app: AppContext, work: Work, scope: anyio.CancelScope) -> None:
    while launch_block(app, get(app.store, type(work), work.id)) not in ("cancelled", "stopped", "ending"):
        await app.changes.wait(QUIET)
    scope.cancel()
