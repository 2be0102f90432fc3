"""Drives a sweep: an agent that tries no idea, in a worktree at the head whose commits are not kept."""

from __future__ import annotations

import anyio.to_thread

from herdr.campaign.sweeps import SweepFacts, SweepOutcome, sweep_outcome
from herdr.contract.words import SweepState
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.launch_block import launch_block
from herdr.daemon.runs.agents import adopt, close_agent, never_started, no_worktree, start_again, watch_one
from herdr.daemon.runs.folders import folder_of_sweep
from herdr.daemon.runs.launcher import Launched, prepare_sweep
from herdr.daemon.runs.post_mortem import examine_use
from herdr.daemon.runs.supervisor import Ending
from herdr.errors import HerdrError
from herdr.store.failures import StoreError
from herdr.store.rows import Sweep, get


async def drive_sweep(app: AppContext, fleet: Fleet, sweep_id: int) -> None:
    """Take a sweep from wherever it stands to its end, or leave it in the queue if it cannot go on now."""
    sweep = get(app.store, Sweep, sweep_id)
    launched = await adopt(app, fleet, sweep)
    while sweep.state in ("queued", "running"):
        if launched is None and _not_now(app, sweep):
            break
        if launched is None and not await _prepared(app, fleet, sweep):
            break
        if not await _one_agent(app, fleet, get(app.store, Sweep, sweep.id), launched):
            break
        launched = None
        sweep = get(app.store, Sweep, sweep.id)
    sweep = get(app.store, Sweep, sweep.id)
    if sweep.state not in ("queued", "running") and sweep.worktree is not None:
        await anyio.to_thread.run_sync(folder_of_sweep(app, fleet, sweep).remove)
        with app.transaction() as store:
            Sweep.update(store, sweep.id, worktree=None, actor=ACTOR)


def _not_now(app: AppContext, sweep: Sweep) -> bool:
    why = launch_block(app, sweep)
    if why in ("cancelled", "stopped"):
        _end(app, sweep, "cancelled", why)
    elif why is not None and sweep.state != "queued":
        with app.transaction() as store:
            Sweep.update(store, sweep.id, state="queued", actor=ACTOR)
    return why is not None


async def _prepared(app: AppContext, fleet: Fleet, sweep: Sweep) -> bool:
    try:
        await prepare_sweep(app, fleet, sweep)
    except StoreError:
        raise
    except HerdrError as error:
        no_worktree(app, fleet, sweep, error)
        if not start_again(app, sweep):
            _end(app, sweep, "failed", error.message)
            return False
        raise
    return True


async def _one_agent(app: AppContext, fleet: Fleet, sweep: Sweep, launched: Launched | None) -> bool:
    """One agent to its end; True when another is to be started."""
    agent, ending, launched = await watch_one(app, fleet, sweep, launched)
    post_mortem = await examine_use(fleet, launched)
    failed = never_started(app, agent, ending, post_mortem)
    # One change: a daemon that was killed in between would have the sweep made once more.
    with app.transaction() as store:
        close_agent(app, agent, ending, post_mortem, failed=failed)
        sweep = get(store, Sweep, sweep.id)
        if failed and start_again(app, sweep):
            return True
        outcome = _outcome(ending, start_failed=failed)
        if outcome.state == "queued":
            Sweep.update(store, sweep.id, state="queued", actor=ACTOR)
        else:
            _end(app, sweep, outcome.state, outcome.detail)
    return False


def _outcome(ending: Ending, *, start_failed: bool) -> SweepOutcome:
    return sweep_outcome(
        SweepFacts(
            cancelled=ending.cancelled,
            stopped=ending.stopped,
            timed_out=ending.timed_out,
            lost=ending.lost,
            start_failed=start_failed,
            given_up=ending.blocked or ending.cause is not None,
            exit_status=ending.exit.status if ending.exit else None,
            exit_signal=ending.exit.signal if ending.exit else None,
            detail=ending.detail,
        )
    )


def _end(app: AppContext, sweep: Sweep, state: SweepState, detail: str) -> None:
    with app.transaction() as store:
        Sweep.update(
            store, sweep.id, state=state, end_detail=detail or None, finished_at=app.timestamp(), actor=ACTOR
        )
