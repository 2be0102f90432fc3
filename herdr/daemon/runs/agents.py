"""One agent of a run or a sweep, from its launch, or from where it was found, to its closed row."""

from __future__ import annotations

import secrets
from itertools import takewhile

import anyio.to_thread

from herdr.campaign.outcome import StartFacts, after_failed_start, failed_start
from herdr.contract.harness import Cause
from herdr.daemon.anomalies import report
from herdr.daemon.app_context import ACTOR, AppContext, Fleet, Work
from herdr.daemon.io.delivery import close_messages
from herdr.daemon.runs.launcher import Launched, StartFailedError, context_for, enter_agent, launch
from herdr.daemon.runs.post_mortem import SCREEN_FILE, PostMortem
from herdr.daemon.runs.supervisor import Ending, Supervisor
from herdr.errors import HerdrError
from herdr.home import atomic_write
from herdr.runtime.api import Place
from herdr.runtime.launchfile import revoke_launch
from herdr.scoring.set_up import SetUpError
from herdr.store.connection import Store
from herdr.store.rows import Agent, Comment, Run, find, get
from herdr.times import parse_timestamp


def agent_at_work(store: Store, work: Work) -> Agent | None:
    """The agent of a run or a sweep that has not ended."""
    column = "run_id" if isinstance(work, Run) else "sweep_id"
    return find(store, Agent, f"WHERE {column} = ? AND state <> 'ended'", work.id)


async def adopt(app: AppContext, fleet: Fleet, work: Work) -> Launched | None:
    """The agent that an earlier daemon started for this work, if it was ever started."""
    agent = agent_at_work(app.store, work)
    if agent is None:
        return None
    folder = app.home.agent_dir(agent.id)
    never_started = not folder.exists() or await anyio.to_thread.run_sync(revoke_launch, folder)
    if never_started:
        ending = Ending(lost=True, detail="the daemon stopped before it was started")
        close_agent(app, agent, ending, PostMortem())
        return None
    harness = fleet.harnesses.get(agent.harness)
    context = context_for(app, fleet, work, agent, harness)
    # Without a window, because its tmux server is gone, it gets an empty place: the supervisor then reads how it
    # ended, or finds that it was lost.
    place = await fleet.runtime.find(agent.id, folder) or Place(session="", window="", pane="")
    app.emit("agent.adopted", project_id=work.project_id, agent=agent.name)
    return Launched(agent=agent, harness=harness, context=context, place=place)


async def watch_one(
    app: AppContext, fleet: Fleet, work: Work, launched: Launched | None
) -> tuple[Agent, Ending, Launched | None]:
    """Watch an agent, launched now if it was not found, until it has ended; what is left is for the caller.

    Args:
        app: the daemon.
        fleet: the project.
        work: the run or the sweep.
        launched: the agent that was found alive; None launches one.

    Returns:
        The agent's row, how it ended, and what was launched (None when the launch itself failed).
    """
    try:
        launched = launched or await launch(app, fleet, work)
    except StartFailedError as failure:
        agent = agent_at_work(app.store, work)
        assert agent is not None, "launching enters the agent's row first"
        # A launch that has half begun must not start the agent later, when its row says that it has ended.
        await anyio.to_thread.run_sync(revoke_launch, app.home.agent_dir(agent.id))
        return agent, Ending(launched=False, cause=failure.cause, detail=failure.message), None
    ending = await Supervisor(app, fleet, launched).watch()
    return get(app.store, Agent, launched.agent.id), ending, launched


def no_worktree(app: AppContext, fleet: Fleet, work: Work, error: HerdrError, cause: Cause = "config") -> None:
    """Enter an agent that could not even be launched, because there was no place to work in.

    Args:
        app: the daemon.
        fleet: the project.
        work: the run or the sweep.
        error: what stood in the way; `herdr logs` shows what a set-up printed.
        cause: the same in one word.
    """
    agent = enter_agent(app, fleet, work, secrets.token_hex(16))
    if isinstance(error, SetUpError) and error.output:
        folder = app.home.agent_dir(agent.id)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        atomic_write(folder / SCREEN_FILE, error.output)
    ending = Ending(launched=False, cause=cause, detail=error.message)
    close_agent(app, agent, ending, PostMortem(), failed=True)


def never_started(app: AppContext, agent: Agent, ending: Ending, post_mortem: PostMortem) -> bool:
    """Whether this was a failed start (`docs/ideas-seeds-runs.md`, "Runs").

    Args:
        app: the daemon.
        agent: its row.
        ending: how it ended.
        post_mortem: what it left: whoever left anything has started.
    """
    since = parse_timestamp(agent.started_at or agent.launched_at).timestamp()
    # It may have ended long before a daemon was there to see it.
    ended = ending.exit.ended_at if ending.exit is not None and ending.exit.ended_at else app.now().timestamp()
    facts = StartFacts(
        launched=ending.launched,
        seconds=ended - since,
        tokens=post_mortem.tokens,
        committed=bool(post_mortem.commits or post_mortem.recovered) or _asked(app, agent),
        commented=find(app.store, Comment, "WHERE actor = ?", agent.name) is not None,
        timed_out=ending.timed_out,
        cancelled=ending.cancelled or ending.stopped,
        lost=ending.lost,
        killed=_killed_in_a_row(app, agent) + 1 if ending.cause == "killed" else 0,
    )
    return failed_start(facts)


def _killed_in_a_row(app: AppContext, agent: Agent) -> int:
    """How many agents of the same work, right before this one, ended because their wrapper alone was killed."""
    column, number = ("run_id", agent.run_id) if agent.run_id is not None else ("sweep_id", agent.sweep_id)
    sql = f"SELECT cause FROM agents WHERE {column} = ? AND id < ? ORDER BY id DESC"  # noqa: S608 - one of two names
    causes = (row[0] for row in app.store.execute(sql, (number, agent.id)))
    return sum(1 for _ in takewhile(lambda cause: cause == "killed", causes))


def _asked(app: AppContext, agent: Agent) -> bool:
    """Whether an agent of a sweep, whose commits do not count, has filed or changed something."""
    asked = "SELECT 1 FROM requests WHERE agent_id = ?"
    return agent.run_id is None and app.store.execute(asked, (agent.id,)).fetchone() is not None


def start_again(app: AppContext, work: Work) -> bool:
    """Count one more failed start; True when the same work, back in the queue then, is to be started again."""
    failures = work.failed_starts + 1
    again = after_failed_start(failures) == "restart" and not work.cancel_requested
    with app.transaction() as store:
        type(work).update(store, work.id, failed_starts=failures, actor=ACTOR)
        if again:
            type(work).update(store, work.id, state="queued", actor=ACTOR)
    return again


def close_agent(
    app: AppContext, agent: Agent, ending: Ending, post_mortem: PostMortem, *, failed: bool = False
) -> None:
    """Write how an agent ended and what it left; a failed start is an anomaly as well.

    Args:
        app: the daemon.
        agent: its row.
        ending: how it ended.
        post_mortem: what it left.
        failed: whether this was a failed start.
    """
    usage = post_mortem.usage
    with app.transaction() as store:
        close_messages(store, agent.id)
        Agent.update(
            store,
            agent.id,
            state="ended",
            cause=_cause(ending) if failed else ending.cause,
            cause_detail=ending.detail or (post_mortem.last_line if failed else None),
            failed_start=failed,
            ended_at=app.timestamp(),
            exit_status=ending.exit.status if ending.exit else None,
            exit_signal=ending.exit.signal if ending.exit else None,
            tokens_in=usage.input if usage else None,
            tokens_out=usage.output if usage else None,
            tokens_cached=usage.cached if usage else None,
            cost=usage.cost if usage else None,
            last_line=post_mortem.last_line,
            actor=ACTOR,
        )
        if failed:
            said = f"{_cause(ending)}, {ending.detail or post_mortem.last_line or 'it said nothing'}"
            detail = f"{agent.name} ({agent.harness}) failed to start: {said}"
            # An incident makes a watchdog look into it, so a watchdog that cannot start must not be one.
            incident = agent.role != "watchdog"
            report(store, agent.project_id, "failed_start", ("agent", agent.id), detail, incident=incident)


def _cause(ending: Ending) -> Cause:
    """Why a start failed: every one has a cause."""
    crashed = ending.exit is not None and ending.exit.signal is not None
    return ending.cause or ending.hint or ("crashed" if crashed else "exited")
