"""The life of a run: started, watched, started again if it must be, ended, its commits judged, its idea moved.

Every step can be taken again: whoever starts from the run's row finds where it stands and goes on from there.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

import anyio.to_thread

from herdr.api import Cause
from herdr.campaign.outcome import (
    Outcome,
    RunFacts,
    StartFacts,
    after_failed_start,
    failed_start,
    idea_after,
    run_outcome,
)
from herdr.daemon.delivery import close_messages
from herdr.daemon.judging import enter_commits, judge_run, unmerged
from herdr.daemon.launcher import (
    Launched,
    RefusedByPluginError,
    StartFailedError,
    claim,
    context_for,
    launch,
    prepare_worktree,
)
from herdr.daemon.rebase import rebase
from herdr.daemon.remains import Remains, collect
from herdr.daemon.supervisor import Ending, Supervisor
from herdr.daemon.world import ACTOR, Fleet, World, parse_stamp
from herdr.errors import HerdrError
from herdr.repo.clean import removable, remove_run_worktree
from herdr.repo.refs import pinned
from herdr.runtime.api import Place
from herdr.runtime.launchfile import revoke_launch
from herdr.store.connection import Store
from herdr.store.failures import StoreError
from herdr.store.rows import Agent, Comment, Idea, Run, find, get, insert, update


async def live(world: World, fleet: Fleet, run_id: int) -> None:
    """Take a run from wherever it stands to settled, or back to the queue if its agent was lost."""
    run = get(world.store, Run, run_id)
    if run.state in ("queued", "running"):
        await _try_idea(world, fleet, run)
    run = get(world.store, Run, run_id)
    if run.state not in ("queued", "running") and run.settled_at is None:
        await settle(world, fleet, run)


# --- agents ----------------------------------------------------------------------------------------------------


async def _try_idea(world: World, fleet: Fleet, run: Run) -> None:
    launched = await _adopt(world, fleet, run)
    if launched is None and not await _prepared(world, fleet, run):
        return
    while True:
        run = get(world.store, Run, run.id)
        if run.cancel_requested and launched is None:
            _end_run(world, run, run_outcome(RunFacts(cancelled=True)))
            return
        if not await _one_agent(world, fleet, run, launched):
            return
        launched = None


async def _prepared(world: World, fleet: Fleet, run: Run) -> bool:
    """Claim the run and make its worktree; False when a plugin refuses the claim."""
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
        if _failed_again(world, run) == "fail":
            _end_run(world, run, run_outcome(RunFacts(start_failed=True)), detail=error.message)
            return False
        raise
    return True


def _failed_again(world: World, run: Run) -> Literal["restart", "fail"]:
    """Count one more failed start of a run, and say what the rule makes of it."""
    failures = run.failed_starts + 1
    with world.transaction() as store:
        update(store, Run, run.id, {"failed_starts": failures, "actor": ACTOR})
    return after_failed_start(failures)


async def _one_agent(world: World, fleet: Fleet, run: Run, launched: Launched | None) -> bool:
    """One agent from launch, or from where it was found, to its end; True when another is to be started."""
    try:
        launched = launched or await launch(world, fleet, run)
    except StartFailedError as failure:
        agent = find(world.store, Agent, "WHERE run_id = ? AND state <> 'ended'", run.id)
        ending = Ending(launched=False, cause=failure.cause, detail=failure.message)
        assert agent is not None, "launching enters the agent's row first"
        # Whatever was begun must not come to life later.
        await anyio.to_thread.run_sync(revoke_launch, world.home.agent_dir(agent.id))
        return await _conclude(world, fleet, run, agent, ending, None)
    ending = await Supervisor(world, fleet, launched).watch()
    return await _conclude(world, fleet, run, get(world.store, Agent, launched.agent.id), ending, launched)


async def _adopt(world: World, fleet: Fleet, run: Run) -> Launched | None:
    """The agent that an earlier daemon started for this run, if it was ever started."""
    agent = find(world.store, Agent, "WHERE run_id = ? AND state <> 'ended'", run.id)
    if agent is None:
        return None
    folder = world.home.agent_dir(agent.id)
    never_started = not folder.exists() or await anyio.to_thread.run_sync(revoke_launch, folder)
    if never_started:
        _close_agent(
            world, agent, Ending(lost=True, detail="the daemon stopped before it was started"), Remains()
        )
        return None
    harness = fleet.harnesses.get(agent.harness)
    context = context_for(world, fleet, get(world.store, Run, run.id), agent, harness)
    place = await fleet.runtime.find(agent.id, folder)
    if place is None:
        # Gone with its server: supervision finds its exit, or that it was lost.
        place = Place(session="", window="", pane="")
    world.emit("agent.adopted", project_id=run.project_id, agent=agent.name)
    return Launched(agent=agent, harness=harness, context=context, place=place)


async def _conclude(
    world: World, fleet: Fleet, run: Run, agent: Agent, ending: Ending, launched: Launched | None
) -> bool:
    """Close an agent that has ended, and decide about its run; True when it is to be started again."""
    remains = await collect(world, fleet, run, agent, launched)
    start = _start_facts(world, agent, ending, remains)
    failed = failed_start(start)
    _close_agent(world, agent, ending, remains, failed=failed)
    run = get(world.store, Run, run.id)
    if failed and _failed_again(world, run) == "restart" and not run.cancel_requested:
        return True
    _end_run(world, run, run_outcome(_run_facts(world, run, ending, remains, start_failed=failed)))
    return False


def _start_facts(world: World, agent: Agent, ending: Ending, remains: Remains) -> StartFacts:
    since = parse_stamp(agent.started_at or agent.launched_at)
    return StartFacts(
        launched=ending.launched,
        seconds=(world.now() - since).total_seconds(),
        tokens=remains.tokens,
        committed=bool(remains.commits or remains.recovered),
        commented=find(world.store, Comment, "WHERE actor = ?", agent.name) is not None,
        timed_out=ending.timed_out,
        cancelled=ending.cancelled,
        lost=ending.lost,
    )


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
        lost=ending.lost,
    )


def _close_agent(world: World, agent: Agent, ending: Ending, remains: Remains, *, failed: bool = False) -> None:
    usage = remains.usage
    with world.transaction() as store:
        close_messages(store, agent.id)
        update(
            store,
            Agent,
            agent.id,
            {
                "state": "ended",
                "cause": _cause(ending) if failed else ending.cause,
                "cause_detail": ending.detail or None,
                "failed_start": failed,
                "ended_at": world.stamp(),
                "exit_status": ending.exit.status if ending.exit else None,
                "exit_signal": ending.exit.signal if ending.exit else None,
                "tokens_in": usage.input if usage else None,
                "tokens_out": usage.output if usage else None,
                "tokens_cached": usage.cached if usage else None,
                "cost": usage.cost if usage else None,
                "last_line": remains.last_line,
                "actor": ACTOR,
            },
        )


def _cause(ending: Ending) -> Cause:
    """Why a start failed: every one has a cause (DESIGN §10)."""
    crashed = ending.exit is not None and ending.exit.signal is not None
    return ending.cause or ending.hint or ("crashed" if crashed else "exited")


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
    with world.transaction() as store:
        update(store, Run, run.id, {"settled_at": world.stamp(), "actor": ACTOR})
        _settle_idea(store, fleet, get(store, Run, run.id))
    if run.worktree is not None:
        await anyio.to_thread.run_sync(partial(_tidy, fleet, Path(run.worktree)))


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
