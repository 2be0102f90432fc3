"""Drives a run: started, watched, started again if it must be, ended, its commits judged, its idea moved.

Every step can be taken again: `drive_run` reads in the run's row how far it is, and goes on from there.
"""

from __future__ import annotations

import os
from functools import partial

from herdr.campaign.outcome import Outcome, RunFacts, idea_after, run_outcome
from herdr.contract.words import IdeaStatus
from herdr.daemon.anomalies import report
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
from herdr.daemon.runs.checkout_watch import watch_checkout
from herdr.daemon.runs.folders import folder_of_run
from herdr.daemon.runs.launcher import Launched, RefusedByPluginError, claim, prepare_worktree
from herdr.daemon.runs.post_mortem import PostMortem, collect, examine
from herdr.daemon.runs.steps import StepFailedError, in_time
from herdr.daemon.runs.supervisor import Ending
from herdr.daemon.runs.telling import escalate_once, failed_ending, lost_folder, note_once
from herdr.daemon.scoring.holding import hold_run
from herdr.daemon.scoring.judging import enter_commits, judge_run
from herdr.daemon.scoring.rebase import rebase
from herdr.errors import HerdrError
from herdr.repo.isolated import NotOursError
from herdr.repo.run_folder import RunFolder
from herdr.runtime.ending import end_agent
from herdr.runtime.processes import mark
from herdr.store.columns import RunChanges
from herdr.store.connection import Store
from herdr.store.failures import StoreError
from herdr.store.rows import Agent, Comment, Idea, Run, find, get
from herdr.trunk.reading import unmerged

#: Seconds for removing the folder of a settled run.
TIDY_LIMIT = 600.0


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
    while launched is not None or await _prepared(app, fleet, get(app.store, Run, run.id)):
        if not await _one_agent(app, fleet, get(app.store, Run, run.id), launched):
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
    """Claim the run, and make its folder or verify it; False when it is not to be started now, or ever."""
    if _not_now(app, run):
        return False
    if run.started_at is None:
        try:
            await claim(app, fleet, run)
        except RefusedByPluginError as refusal:
            _refuse(app, run, refusal)
            return False
    await watch_checkout(app, fleet)
    folder = folder_of_run(app, fleet, run)
    # A folder that an agent deleted is made again where the work stands.
    problems, _ = await collect(app, run, folder) if run.worktree is not None else ([], "")
    try:
        problems += await prepare_worktree(app, fleet, run)
    except StoreError:
        raise
    except HerdrError as error:
        note_once(app, run, problems)
        return _not_prepared(app, fleet, get(app.store, Run, run.id), error)
    note_once(app, run, problems)
    # It may have been cancelled, or launching may have been held up, meanwhile.
    return not _not_now(app, get(app.store, Run, run.id))


def _not_prepared(app: AppContext, fleet: Fleet, run: Run, error: HerdrError) -> bool:
    """No agent without a verified folder: this start has failed, and the next is tried after a pause.

    Raises:
        HerdrError: there is a next.
    """
    if _not_now(app, run):
        return False
    taken = isinstance(error, NotOursError)
    if taken and run.worktree is not None:
        _end_run(app, run, run_outcome(RunFacts(folder_lost=error.message)))
        return False
    no_worktree(app, fleet, run, error, "name_taken" if taken else "config")
    if not start_again(app, run):
        _end_run(app, run, run_outcome(RunFacts(start_failed=True)), detail=error.message)
        return False
    raise error


async def _one_agent(app: AppContext, fleet: Fleet, run: Run, launched: Launched | None) -> bool:
    """One agent from launch, or from where it was found, to its end; True when another is to be started."""
    agent, ending, launched = await watch_one(app, fleet, run, launched)
    post_mortem = await examine(app, fleet, run, agent, launched)
    note_once(app, run, post_mortem.problems)
    return _ended(app, run, agent, ending, post_mortem)


def _ended(app: AppContext, run: Run, agent: Agent, ending: Ending, post_mortem: PostMortem) -> bool:
    """Write how an agent ended and what becomes of its run; True when another is to be started.

    All of it is one change: a daemon that was killed in between would have the run tried once more.
    """
    failed = never_started(app, agent, ending, post_mortem) and not post_mortem.lost
    with app.transaction() as store:
        close_agent(app, agent, ending, post_mortem, failed=failed)
        run = get(store, Run, run.id)
        if post_mortem.lost:
            # Also where somebody has cancelled it: what was not committed is only there.
            escalate_once(app, run, lost_folder(run, post_mortem.lost))
        elif failed and start_again(app, run):
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
        cancelled=ending.cancelled or run.cancel_requested,
        stopped=ending.stopped,
        # What a daemon that stops had no time for is done by the next.
        lost=(ending.lost and not start_failed) or (app.ending and bool(post_mortem.failed)),
        folder_lost=post_mortem.lost,
        ending_failed=post_mortem.failed,
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
        if outcome.end == "folder_lost":
            escalate_once(app, run, lost_folder(run, outcome.detail))
        elif outcome.end == "ending_failed":
            escalate_once(app, run, failed_ending(run, outcome.detail))
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
    await watch_checkout(app, fleet, ended=True)
    folder = folder_of_run(app, fleet, run)
    if run.branch is not None:
        await enter_commits(app, run, folder)
        await hold_run(app, fleet, run)
        await judge_run(app, fleet, run)
        while (keep := unmerged(app.store, run)) is not None:
            await rebase(app, fleet, run, keep)
    # Before it is settled, after which no daemon comes back to it.
    if run.worktree is not None and run.end_cause not in ("folder_lost", "ending_failed"):
        await _tidy(app, run, folder)
    _settle(app, fleet, run)


def _settle(app: AppContext, fleet: Fleet, run: Run) -> None:
    with app.transaction() as store:
        Run.update(store, run.id, settled_at=app.timestamp(), actor=ACTOR)
        _settle_idea(store, fleet, get(store, Run, run.id))


async def _tidy(app: AppContext, run: Run, folder: RunFolder) -> None:
    """Remove the folder of a settled run if nothing would be lost; what stays, `herdr clean` names."""
    try:
        await in_time(app, run, "its folder could not be removed", partial(_remove, folder), TIDY_LIMIT)
    except NotOursError as error:
        escalate_once(app, run, lost_folder(run, error.message))
    except StepFailedError as error:
        note_once(app, run, [error.message])


def _remove(folder: RunFolder) -> None:
    if os.path.lexists(folder.place.worktree):
        folder.check()
    if folder.removable() is None:
        folder.remove()


# --- giving up ------------------------------------------------------------------------------------------------


async def give_up(app: AppContext, fleet: Fleet, run_id: int, reason: str) -> None:
    """End a run, or what is still to be done about an ended one, that cannot go on; its folder stays.

    Args:
        app: the daemon.
        fleet: the project.
        run_id: the run.
        reason: what failed, again and again.
    """
    agent = agent_at_work(app.store, get(app.store, Run, run_id))
    if agent is not None:
        await end_agent(mark(app.home, agent.id), app.home.agent_dir(agent.id))
    with app.transaction() as store:
        run = get(store, Run, run_id)
        if agent is not None:
            close_agent(app, agent, Ending(cause="unknown", detail=reason), PostMortem())
        if run.state in ("queued", "running"):
            facts = RunFacts(
                cancelled=run.cancel_requested,
                lost=app.ending,
                ending_failed=f"what has to be done about it fails: {reason}",
            )
            _end_run(app, run, run_outcome(facts))
        elif run.settled_at is None:
            _leave_unsettled(app, fleet, run, reason)


def _leave_unsettled(app: AppContext, fleet: Fleet, run: Run, reason: str) -> None:
    said = f"what it left could not be judged: {reason}"
    if run.state == "succeeded":
        Run.update(app.store, run.id, state="failed", end_cause="ending_failed", end_detail=said, actor=ACTOR)
    escalate_once(app, run, failed_ending(run, said))
    _settle(app, fleet, run)


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
