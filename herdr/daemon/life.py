"""The life of a run: started, watched, started again if it must be, ended, its commits judged, its idea moved.

Every step can be taken again: whoever starts from the run's row finds where it stands and goes on from there.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio.to_thread

from herdr.campaign.outcome import Outcome, RunFacts, idea_after, run_outcome
from herdr.daemon.agents import adopt, close_agent, never_started, no_worktree, start_again, watch_one
from herdr.daemon.anomalies import report
from herdr.daemon.gate import closed
from herdr.daemon.judging import enter_commits, judge_run, unmerged
from herdr.daemon.launcher import Launched, RefusedByPluginError, claim, prepare_worktree
from herdr.daemon.rebase import rebase
from herdr.daemon.remains import Remains, collect
from herdr.daemon.supervisor import Ending
from herdr.daemon.world import ACTOR, Fleet, World
from herdr.errors import HerdrError
from herdr.repo.clean import removable, remove_run_worktree
from herdr.repo.refs import pinned
from herdr.store.connection import Store
from herdr.store.failures import StoreError
from herdr.store.rows import Agent, Comment, Idea, Run, find, get, insert, update


async def live(world: World, fleet: Fleet, run_id: int) -> None:
    """Take a run from wherever it stands to settled, or back to the queue if it cannot go on now."""
    run = get(world.store, Run, run_id)
    if run.state in ("queued", "running"):
        await _try_idea(world, fleet, run)
    run = get(world.store, Run, run_id)
    if run.state not in ("queued", "running") and run.settled_at is None:
        await settle(world, fleet, run)


# --- agents ----------------------------------------------------------------------------------------------------


async def _try_idea(world: World, fleet: Fleet, run: Run) -> None:
    launched = await adopt(world, fleet, run)
    if launched is None and not await _prepared(world, fleet, run):
        return
    while True:
        run = get(world.store, Run, run.id)
        if launched is None and _not_now(world, run):
            return
        if not await _one_agent(world, fleet, run, launched):
            return
        launched = None


def _not_now(world: World, run: Run) -> bool:
    """Whether no agent of the run may be launched now; it is ended, or waits in the queue then."""
    why = closed(world, run)
    if why == "cancelled":
        _end_run(world, run, run_outcome(RunFacts(cancelled=True)))
    elif why == "stopped":
        _end_run(world, run, run_outcome(RunFacts(stopped=True)))
    elif why is not None and run.state != "queued":
        with world.transaction() as store:
            update(store, Run, run.id, {"state": "queued", "actor": ACTOR})
    return why is not None


async def _prepared(world: World, fleet: Fleet, run: Run) -> bool:
    """Claim the run and make its worktree; False when it is not to be started now, or ever."""
    if _not_now(world, run):
        return False
    if run.started_at is None:
        try:
            await claim(world, fleet, run)
        except RefusedByPluginError as refusal:
            _refuse(world, run, refusal)
            return False
    try:
        await prepare_worktree(world, fleet, run)
    except StoreError:
        raise
    except HerdrError as error:
        # No agent without a verified worktree: this start has failed, and the next is tried after a pause.
        no_worktree(world, fleet, run, error.message)
        if not start_again(world, run):
            _end_run(world, run, run_outcome(RunFacts(start_failed=True)), detail=error.message)
            return False
        raise
    return True


async def _one_agent(world: World, fleet: Fleet, run: Run, launched: Launched | None) -> bool:
    """One agent from launch, or from where it was found, to its end; True when another is to be started."""
    agent, ending, launched = await watch_one(world, fleet, run, launched)
    remains = await collect(world, fleet, run, agent, launched)
    return _ended(world, run, agent, ending, remains)


def _ended(world: World, run: Run, agent: Agent, ending: Ending, remains: Remains) -> bool:
    """Write how an agent ended and what becomes of its run; True when another is to be started.

    All of it is one change: a daemon that was killed in between would have the run tried once more.
    """
    failed = never_started(world, agent, ending, remains)
    with world.transaction() as store:
        close_agent(world, agent, ending, remains, failed=failed)
        run = get(store, Run, run.id)
        if failed and start_again(world, run):
            return True
        _end_run(world, run, run_outcome(_run_facts(world, run, ending, remains, start_failed=failed)))
    return False


def _run_facts(world: World, run: Run, ending: Ending, remains: Remains, *, start_failed: bool) -> RunFacts:
    finding = "WHERE kind = 'finding' AND actor IN (SELECT role || '#' || id FROM agents WHERE run_id = ?)"
    return RunFacts(
        commits=remains.commits,
        recovered=remains.recovered,
        finding=find(world.store, Comment, finding, run.id) is not None,
        exit_status=ending.exit.status if ending.exit else None,
        exit_signal=ending.exit.signal if ending.exit else None,
        failure=ending.cause if not ending.blocked else None,
        start_failed=start_failed,
        blocked=ending.blocked,
        timed_out=ending.timed_out,
        cancelled=ending.cancelled,
        stopped=ending.stopped,
        lost=ending.lost,
    )


# --- the run ----------------------------------------------------------------------------------------------------


def _end_run(world: World, run: Run, outcome: Outcome, *, detail: str = "") -> None:
    """Write how a run ended; a lost one goes back to the queue as it is, to be started again."""
    values: dict[str, object] = {"state": outcome.state, "actor": ACTOR}
    if outcome.state != "queued":
        values |= {
            "end_cause": outcome.end,
            "end_detail": f"{outcome.detail}: {detail}" if detail else outcome.detail,
            "counts": outcome.counts,
            "finished_at": world.stamp(),
        }
    with world.transaction() as store:
        update(store, Run, run.id, values)
        if outcome.state == "failed":
            detail = f"run#{run.id} of idea#{run.idea_id} failed: {values['end_detail']}"
            report(store, run.project_id, "failed_run", ("run", run.id), detail, incident=True)


def _refuse(world: World, run: Run, refusal: RefusedByPluginError) -> None:
    with world.transaction() as store:
        now = world.stamp()
        values = {"state": "cancelled", "end_cause": "refused", "end_detail": refusal.message, "counts": 0}
        update(store, Run, run.id, {**values, "finished_at": now, "settled_at": now, "actor": ACTOR})
        _move_idea(store, run, "parked")
        _note(store, run, f"parked: {refusal.message}")


async def settle(world: World, fleet: Fleet, run: Run) -> None:
    """Score and judge what an ended run left, merge a passed-by keep onto the head, and move the idea."""
    if run.branch is not None:
        await enter_commits(world, fleet, run)
        await judge_run(world, fleet, run)
        while (keep := unmerged(world.store, run)) is not None:
            await rebase(world, fleet, run, keep)
    _settle(world, fleet, run)
    if run.worktree is not None:
        await anyio.to_thread.run_sync(partial(_tidy, fleet, Path(run.worktree)))


def _settle(world: World, fleet: Fleet, run: Run) -> None:
    with world.transaction() as store:
        update(store, Run, run.id, {"settled_at": world.stamp(), "actor": ACTOR})
        _settle_idea(store, fleet, get(store, Run, run.id))


def _tidy(fleet: Fleet, worktree: Path) -> None:
    """Remove the worktree of a settled run if nothing would be lost; what stays, `herdr clean` names."""
    pins = list(pinned(fleet.root, fleet.name).values())
    if worktree.exists() and removable(fleet.root, worktree, pinned=pins, in_use=False) is None:
        remove_run_worktree(fleet.root, worktree, pinned=pins)


def _settle_idea(store: Store, fleet: Fleet, run: Run) -> None:
    idea = get(store, Idea, run.idea_id)
    attempts = store.execute("SELECT count(*) FROM runs WHERE idea_id = ? AND counts = 1", (idea.id,)).fetchone()[
        0
    ]
    outcome = Outcome(state=run.state, end=run.end_cause, detail=run.end_detail or "", counts=run.counts)  # type: ignore[arg-type]
    status = idea_after(
        outcome,
        attempts=attempts,
        limit=idea.attempts or fleet.config.attempts,
        status=idea.status,  # type: ignore[arg-type]
    )
    if status != idea.status:
        _move_idea(store, run, status)
        if status == "parked":
            _note(store, run, f"parked: run#{run.id} {run.state}, {run.end_detail}")


def _move_idea(store: Store, run: Run, status: str) -> None:
    if get(store, Idea, run.idea_id).status == "scheduled":
        update(store, Idea, run.idea_id, {"status": status, "actor": ACTOR})


def _note(store: Store, run: Run, body: str) -> None:
    values = {"project_id": run.project_id, "target_kind": "idea", "target_id": run.idea_id}
    insert(store, Comment, {**values, "kind": "note", "body": body, "actor": ACTOR})
