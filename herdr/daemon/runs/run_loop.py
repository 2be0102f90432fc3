"""Drives a run: started, watched, started again if it must be, ended, its commits judged, its idea moved.

Every step can be taken again: `drive_run` reads in the run's row how far it is, and goes on from there.
"""

from __future__ import annotations

import contextlib

import anyio.to_thread

from herdr.campaign.outcome import Outcome, RunFacts, idea_after, run_outcome
from herdr.contract.words import IdeaStatus
from herdr.daemon.anomalies import report
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.launch_block import launch_block
from herdr.daemon.runs.agents import adopt, close_agent, never_started, no_worktree, start_again, watch_one
from herdr.daemon.runs.folders import folder_of_run
from herdr.daemon.runs.launcher import Launched, RefusedByPluginError, claim, prepare_worktree
from herdr.daemon.runs.post_mortem import PostMortem, examine
from herdr.daemon.runs.supervisor import Ending
from herdr.daemon.scoring.judging import enter_commits, judge_run
from herdr.daemon.scoring.rebase import rebase
from herdr.errors import HerdrError
from herdr.repo.isolated import NotOursError
from herdr.repo.run_folder import RunFolder
from herdr.store.columns import RunChanges
from herdr.store.connection import Store
from herdr.store.failures import StoreError
from herdr.store.rows import Agent, Comment, Idea, Run, find, get
from herdr.trunk.reading import unmerged


async def drive_run(app: AppContext, fleet: Fleet, run_id: int) -> None:
    """Take a run from wherever it stands to settled, or back to the queue if it cannot go on now."""
    run = get(app.store, Run, run_id)
    if run.state in ("queued", "running"):
        await _try_idea(app, fleet, run)
    run = get(app.store, Run, run_id)
    if run.state not in ("queued", "running") and run.settled_at is None:
        await settle(app, fleet, run)


# --- agents ----------------------------------------------------------------------------------------------------


async def _try_idea(app: AppContext, fleet: Fleet, run: Run) -> None:
    launched = await adopt(app, fleet, run)
    if launched is None and not await _prepared(app, fleet, run):
        return
    while True:
        run = get(app.store, Run, run.id)
        if launched is None and _not_now(app, run):
            return
        if not await _one_agent(app, fleet, run, launched):
            return
        launched = None


def _not_now(app: AppContext, run: Run) -> bool:
    """Whether no agent of the run may be launched now; it is ended, or waits in the queue then."""
    why = launch_block(app, run)
    if why == "cancelled":
        _end_run(app, run, run_outcome(RunFacts(cancelled=True)))
    elif why == "stopped":
        _end_run(app, run, run_outcome(RunFacts(stopped=True)))
    elif why is not None and run.state != "queued":
        with app.transaction() as store:
            Run.update(store, run.id, state="queued", actor=ACTOR)
    return why is not None


async def _prepared(app: AppContext, fleet: Fleet, run: Run) -> bool:
    """Claim the run and make its worktree; False when it is not to be started now, or ever."""
    if _not_now(app, run):
        return False
    if run.started_at is None:
        try:
            await claim(app, fleet, run)
        except RefusedByPluginError as refusal:
            _refuse(app, run, refusal)
            return False
    try:
        await prepare_worktree(app, fleet, run)
    except StoreError:
        raise
    except HerdrError as error:
        # No agent without a verified worktree: this start has failed, and the next is tried after a pause.
        no_worktree(app, fleet, run, error)
        if not start_again(app, run):
            _end_run(app, run, run_outcome(RunFacts(start_failed=True)), detail=error.message)
            return False
        raise
    return True


async def _one_agent(app: AppContext, fleet: Fleet, run: Run, launched: Launched | None) -> bool:
    """One agent from launch, or from where it was found, to its end; True when another is to be started."""
    agent, ending, launched = await watch_one(app, fleet, run, launched)
    post_mortem = await examine(app, fleet, run, agent, launched)
    return _ended(app, run, agent, ending, post_mortem)


def _ended(app: AppContext, run: Run, agent: Agent, ending: Ending, post_mortem: PostMortem) -> bool:
    """Write how an agent ended and what becomes of its run; True when another is to be started.

    All of it is one change: a daemon that was killed in between would have the run tried once more.
    """
    failed = never_started(app, agent, ending, post_mortem)
    with app.transaction() as store:
        close_agent(app, agent, ending, post_mortem, failed=failed)
        run = get(store, Run, run.id)
        if failed and start_again(app, run):
            return True
        _end_run(app, run, run_outcome(_run_facts(app, run, ending, post_mortem, start_failed=failed)))
    return False


def _run_facts(
    app: AppContext, run: Run, ending: Ending, post_mortem: PostMortem, *, start_failed: bool
) -> RunFacts:
    finding = "WHERE kind = 'finding' AND actor IN (SELECT role || '#' || id FROM agents WHERE run_id = ?)"
    return RunFacts(
        commits=post_mortem.commits,
        recovered=post_mortem.recovered,
        finding=find(app.store, Comment, finding, run.id) is not None,
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


def _end_run(app: AppContext, run: Run, outcome: Outcome, *, detail: str = "") -> None:
    """Write how a run ended; a lost one goes back to the queue as it is, to be started again."""
    said = f"{outcome.detail}: {detail}" if detail else outcome.detail
    values: RunChanges = {"state": outcome.state}
    if outcome.state != "queued":
        values["end_cause"], values["end_detail"] = outcome.end, said
        values["counts"], values["finished_at"] = outcome.counts, app.timestamp()
    with app.transaction() as store:
        Run.update(store, run.id, **values, actor=ACTOR)
        if outcome.state == "failed":
            detail = f"run#{run.id} of idea#{run.idea_id} failed: {said}"
            report(store, run.project_id, "failed_run", ("run", run.id), detail, incident=True)


def _refuse(app: AppContext, run: Run, refusal: RefusedByPluginError) -> None:
    with app.transaction() as store:
        now = app.timestamp()
        Run.update(
            store,
            run.id,
            state="cancelled",
            end_cause="refused",
            end_detail=refusal.message,
            counts=False,
            finished_at=now,
            settled_at=now,
            actor=ACTOR,
        )
        _move_idea(store, run, "parked")
        _note(store, run, f"parked: {refusal.message}")


async def settle(app: AppContext, fleet: Fleet, run: Run) -> None:
    """Score and judge what an ended run left, merge a passed-by keep onto the head, and move the idea.

    Args:
        app: the daemon.
        fleet: the project.
        run: a run that has ended.
    """
    folder = folder_of_run(app, fleet, run)
    if run.branch is not None:
        await enter_commits(app, run, folder)
        await judge_run(app, fleet, run)
        while (keep := unmerged(app.store, run)) is not None:
            await rebase(app, fleet, run, keep)
    _settle(app, fleet, run)
    if run.worktree is not None:
        await anyio.to_thread.run_sync(_tidy, folder)


def _settle(app: AppContext, fleet: Fleet, run: Run) -> None:
    with app.transaction() as store:
        Run.update(store, run.id, settled_at=app.timestamp(), actor=ACTOR)
        _settle_idea(store, fleet, get(store, Run, run.id))


def _tidy(folder: RunFolder) -> None:
    """Remove the folder of a settled run if nothing would be lost; what stays, `herdr clean` names."""
    if folder.removable() is None:
        with contextlib.suppress(NotOursError):
            folder.remove()


def _settle_idea(store: Store, fleet: Fleet, run: Run) -> None:
    idea = get(store, Idea, run.idea_id)
    attempts = store.execute("SELECT count(*) FROM runs WHERE idea_id = ? AND counts = 1", (idea.id,)).fetchone()[
        0
    ]
    outcome = Outcome(state=run.state, end=run.end_cause, detail=run.end_detail or "", counts=run.counts)
    status = idea_after(
        outcome,
        attempts=attempts,
        limit=idea.attempts or fleet.config.attempts,
        status=idea.status,
    )
    if status != idea.status:
        _move_idea(store, run, status)
        if status == "parked":
            _note(store, run, f"parked: run#{run.id} {run.state}, {run.end_detail}")


def _move_idea(store: Store, run: Run, status: IdeaStatus) -> None:
    if get(store, Idea, run.idea_id).status == "scheduled":
        Idea.update(store, run.idea_id, status=status, actor=ACTOR)


def _note(store: Store, run: Run, body: str) -> None:
    Comment.insert(
        store,
        project_id=run.project_id,
        target_kind="idea",
        target_id=run.idea_id,
        kind="note",
        body=body,
        actor=ACTOR,
    )
