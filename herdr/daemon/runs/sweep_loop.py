"""Drives a sweep: an agent that tries no idea, in a worktree at the head whose commits are not kept."""

from __future__ import annotations

import shlex

from herdr.campaign.sweeps import SweepFacts, SweepOutcome, sweep_outcome
from herdr.contract.words import SweepState
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.launch_block import launch_block
from herdr.daemon.runs.agents import (
    adopt,
    agent_at_work,
    close_agent,
    never_started,
    no_worktree,
    start_again,
    watch_one,
)
from herdr.daemon.runs.folders import folder_of_sweep
from herdr.daemon.runs.launcher import REMOVE_LIMIT, Launched, prepare_sweep
from herdr.daemon.runs.post_mortem import PostMortem, examine_use
from herdr.daemon.runs.steps import TRIES, in_time
from herdr.daemon.runs.supervisor import Ending
from herdr.daemon.runs.telling import PRIORITY
from herdr.errors import HerdrError
from herdr.repo.isolated import NotOursError
from herdr.runtime.ending import end_agent
from herdr.runtime.processes import mark
from herdr.store.failures import StoreError
from herdr.store.rows import Comment, Sweep, get


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
        await _tidy(app, fleet, sweep)


async def _tidy(app: AppContext, fleet: Fleet, sweep: Sweep) -> None:
    """Remove the folder of an ended sweep; one that is not ours, or cannot be removed, stays, and is told."""
    problem = ""
    try:
        remove = folder_of_sweep(app, fleet, sweep).remove
        await in_time(app, sweep, "it could not be removed", remove, REMOVE_LIMIT, tries=TRIES)
    except StoreError:
        raise
    except HerdrError as error:
        problem = error.message
    with app.transaction() as store:
        Sweep.update(store, sweep.id, worktree=None, actor=ACTOR)
        if problem:
            Comment.insert(
                store,
                project_id=sweep.project_id,
                target_kind="project",
                target_id=sweep.project_id,
                kind="escalation",
                priority=PRIORITY,
                body=f"The folder of {sweep.role} sweep#{sweep.id} stays: {problem}.\n\n"
                f"Fix: look at it, then: rm -rf {shlex.quote(sweep.worktree or '')}",
                actor=ACTOR,
            )


async def give_up_sweep(app: AppContext, fleet: Fleet, sweep_id: int, reason: str) -> None:
    """End a sweep that cannot go on.

    Args:
        app: the daemon.
        fleet: the project.
        sweep_id: the sweep.
        reason: what failed, again and again.
    """
    agent = agent_at_work(app.store, get(app.store, Sweep, sweep_id))
    if agent is not None:
        await end_agent(mark(app.home, agent.id), app.home.agent_dir(agent.id))
    with app.transaction() as store:
        sweep = get(store, Sweep, sweep_id)
        if agent is not None:
            close_agent(app, agent, Ending(cause="unknown", detail=reason), PostMortem())
        if sweep.state in ("queued", "running") and app.ending and not sweep.cancel_requested:
            Sweep.update(store, sweep.id, state="queued", actor=ACTOR)
        elif sweep.state in ("queued", "running"):
            _end(app, sweep, "cancelled" if sweep.cancel_requested else "failed", reason)
    if not app.ending:
        await _tidy(app, fleet, get(app.store, Sweep, sweep_id))


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
        sweep = get(app.store, Sweep, sweep.id)
        if _not_now(app, sweep):
            return False
        lost = isinstance(error, NotOursError)
        no_worktree(app, fleet, sweep, error, "folder" if lost else "config")
        if not start_again(app, sweep) or lost:
            _end(app, sweep, "failed", error.message)
            return False
        raise
    return True


async def _one_agent(app: AppContext, fleet: Fleet, sweep: Sweep, launched: Launched | None) -> bool:
    """One agent to its end; True when another is to be started."""
    agent, ending, launched = await watch_one(app, fleet, sweep, launched)
    post_mortem = await examine_use(app, fleet, sweep, launched)
    failed = never_started(app, agent, ending, post_mortem)
    # One change: a daemon that was killed in between would have the sweep made once more.
    with app.transaction() as store:
        close_agent(app, agent, ending, post_mortem, failed=failed)
        sweep = get(store, Sweep, sweep.id)
        if failed and start_again(app, sweep):
            return True
        outcome = _outcome(sweep, ending, start_failed=failed)
        if outcome.state == "queued":
            Sweep.update(store, sweep.id, state="queued", actor=ACTOR)
        else:
            _end(app, sweep, outcome.state, outcome.detail)
    return False


def _outcome(sweep: Sweep, ending: Ending, *, start_failed: bool) -> SweepOutcome:
    return sweep_outcome(
        SweepFacts(
            cancelled=ending.cancelled or sweep.cancel_requested,
            stopped=ending.stopped,
            timed_out=ending.timed_out,
            lost=ending.lost and not start_failed,
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
