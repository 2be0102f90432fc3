"""One agent of a run or a sweep, from its launch, or from where it was found, to its closed row."""

from __future__ import annotations

import secrets

import anyio.to_thread

from herdr.api import Cause
from herdr.campaign.outcome import StartFacts, after_failed_start, failed_start
from herdr.daemon.anomalies import report
from herdr.daemon.delivery import close_messages
from herdr.daemon.launcher import Launched, StartFailedError, context_for, enter_agent, launch
from herdr.daemon.remains import Remains
from herdr.daemon.supervisor import Ending, Supervisor
from herdr.daemon.world import ACTOR, Fleet, Work, World, parse_stamp
from herdr.runtime.api import Place
from herdr.runtime.launchfile import revoke_launch
from herdr.store.connection import Store
from herdr.store.rows import Agent, Comment, Run, find, get, update


def live_agent(store: Store, work: Work) -> Agent | None:
    """The agent of a run or a sweep that has not ended."""
    column = "run_id" if isinstance(work, Run) else "sweep_id"
    return find(store, Agent, f"WHERE {column} = ? AND state <> 'ended'", work.id)


async def adopt(world: World, fleet: Fleet, work: Work) -> Launched | None:
    """The agent that an earlier daemon started for this work, if it was ever started."""
    agent = live_agent(world.store, work)
    if agent is None:
        return None
    folder = world.home.agent_dir(agent.id)
    never_started = not folder.exists() or await anyio.to_thread.run_sync(revoke_launch, folder)
    if never_started:
        ending = Ending(lost=True, detail="the daemon stopped before it was started")
        close_agent(world, agent, ending, Remains())
        return None
    harness = fleet.harnesses.get(agent.harness)
    context = context_for(world, fleet, work, agent, harness)
    # Gone with its server: supervision finds its exit, or that it was lost.
    place = await fleet.runtime.find(agent.id, folder) or Place(session="", window="", pane="")
    world.emit("agent.adopted", project_id=work.project_id, agent=agent.name)
    return Launched(agent=agent, harness=harness, context=context, place=place)


async def watch_one(
    world: World, fleet: Fleet, work: Work, launched: Launched | None
) -> tuple[Agent, Ending, Launched | None]:
    """Watch an agent, launched now if it was not found, until it has ended; what is left is for the caller."""
    try:
        launched = launched or await launch(world, fleet, work)
    except StartFailedError as failure:
        agent = live_agent(world.store, work)
        assert agent is not None, "launching enters the agent's row first"
        # Whatever was begun must not come to life later.
        await anyio.to_thread.run_sync(revoke_launch, world.home.agent_dir(agent.id))
        return agent, Ending(launched=False, cause=failure.cause, detail=failure.message), None
    ending = await Supervisor(world, fleet, launched).watch()
    return get(world.store, Agent, launched.agent.id), ending, launched


def no_worktree(world: World, fleet: Fleet, work: Work, why: str) -> None:
    """Enter an agent that could not even be launched, because there was no place to work in."""
    agent = enter_agent(world, fleet, work, secrets.token_hex(16))
    close_agent(world, agent, Ending(launched=False, cause="config", detail=why), Remains(), failed=True)


def never_started(world: World, agent: Agent, ending: Ending, remains: Remains) -> bool:
    """Whether this was a failed start (the page, "Runs")."""
    since = parse_stamp(agent.started_at or agent.launched_at).timestamp()
    # It may have ended long before a daemon was there to see it.
    ended = ending.exit.ended_at if ending.exit is not None and ending.exit.ended_at else world.now().timestamp()
    facts = StartFacts(
        launched=ending.launched,
        seconds=ended - since,
        tokens=remains.tokens,
        committed=bool(remains.commits or remains.recovered) or _asked(world, agent),
        commented=find(world.store, Comment, "WHERE actor = ?", agent.name) is not None,
        timed_out=ending.timed_out,
        cancelled=ending.cancelled or ending.stopped,
        lost=ending.lost,
    )
    return failed_start(facts)


def _asked(world: World, agent: Agent) -> bool:
    """Whether an agent without a run, whose commits are nothing, has filed or changed something."""
    asked = "SELECT 1 FROM requests WHERE agent_id = ?"
    return agent.run_id is None and world.store.execute(asked, (agent.id,)).fetchone() is not None


def start_again(world: World, work: Work) -> bool:
    """Count one more failed start; True when the same work, back in the queue then, is to be started again."""
    failures = work.failed_starts + 1
    again = after_failed_start(failures) == "restart" and not work.cancel_requested
    values: dict[str, object] = {"failed_starts": failures, "actor": ACTOR}
    with world.transaction() as store:
        update(store, type(work), work.id, {**values, "state": "queued"} if again else values)
    return again


def close_agent(world: World, agent: Agent, ending: Ending, remains: Remains, *, failed: bool = False) -> None:
    """Write how an agent ended and what it left; a failed start is an anomaly as well."""
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
                "cause_detail": ending.detail or (remains.last_line if failed else None),
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
        if failed:
            said = f"{_cause(ending)}, {ending.detail or remains.last_line or 'it said nothing'}"
            detail = f"{agent.name} ({agent.harness}) failed to start: {said}"
            # A watchdog that cannot start must not call for a watchdog.
            incident = agent.role != "watchdog"
            report(store, agent.project_id, "failed_start", ("agent", agent.id), detail, incident=incident)


def _cause(ending: Ending) -> Cause:
    """Why a start failed: every one has a cause (DESIGN §10)."""
    crashed = ending.exit is not None and ending.exit.signal is not None
    return ending.cause or ending.hint or ("crashed" if crashed else "exited")
