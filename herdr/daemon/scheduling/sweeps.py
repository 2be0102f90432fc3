"""Queues sweeps of the roles that try no ideas: research and the watchdog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from herdr.campaign.queue import Rotation
from herdr.campaign.research import Backlog, PastSweep, may_look, shortage
from herdr.campaign.sweeps import KILLED, SEEDS, WatchdogFacts, research_due, watchdog_due
from herdr.config.structs import ResearchRole, WatchdogRole
from herdr.contract.words import SweepRole, SweepTrigger
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.launch_block import held_harnesses, project_launch_block
from herdr.store.connection import Store
from herdr.store.rows import Project, Sweep, fetch, find
from herdr.times import parse_timestamp

#: How many past sweeps the rest between two can depend on.
PAST = 12
OPEN = "state IN ('queued', 'running')"

#: A seed asks for a sweep when none was given it yet, and once more when the one that was given it was killed.
WAITING_SEEDS = """
    SELECT i.id FROM ideas i LEFT JOIN sweeps s ON s.id = i.sweep_id
    WHERE i.project_id = ? AND i.status = 'seed'
      AND (i.sweeps = 0 OR (i.sweeps = 1 AND s.state IN (?, ?)))
    ORDER BY i.priority, i.id LIMIT ?
"""
#: Ideas that will run by themselves, or once a person approves them; counted only as far as it matters.
BACKLOG = """
    SELECT count(*) FROM (
        SELECT 1 FROM ideas i WHERE i.project_id = ? AND i.status IN ('ready', 'proposed')
          AND NOT EXISTS (SELECT 1 FROM idea_links l JOIN ideas t ON t.id = l.target_id
                          WHERE l.idea_id = i.id AND l.kind = 'after' AND t.status IN ('parked', 'rejected'))
        LIMIT ?)
"""
#: The ideas that a sweep brought: filed by its agents, or developed from the seeds that it was given.
BROUGHT = """
    SELECT (SELECT count(*) FROM ideas i JOIN agents a ON i.source = a.role || '#' || a.id
            WHERE a.sweep_id = :sweep AND i.project_id = a.project_id AND i.status <> 'seed')
         + (SELECT count(*) FROM ideas WHERE sweep_id = :sweep AND status NOT IN ('seed', 'rejected'))
"""
#: What the watchdog's rule asks, in one look.
WATCHDOG_FACTS = """
    SELECT EXISTS (SELECT 1 FROM runs WHERE project_id = :project AND settled_at IS NULL) AS open_run,
           EXISTS (SELECT 1 FROM sweeps WHERE project_id = :project AND role = 'watchdog' AND trigger = 'closing'
                   AND queued_at >= :stopped) AS closed,
           EXISTS (SELECT 1 FROM anomalies
                   WHERE project_id = :project AND incident = 1 AND sweep_id IS NULL) AS incident
"""
ACTIVE = """
    SELECT 1 FROM runs WHERE project_id = :project AND settled_at IS NULL
    UNION ALL SELECT 1 FROM runs WHERE project_id = :project AND counts = 1 AND settled_at > :since LIMIT 1
"""


def queue_sweeps(app: AppContext, fleet: Fleet) -> None:
    """Queue the sweeps that are due, as far as each role's slots are free."""
    project = app.project(fleet.project_id)
    if project.head_id is None or not fleet.rotation or project_launch_block(app, project) is not None:
        return
    if project.state == "active":
        _research(app, fleet, project, fleet.config.roles.research)
    _watchdog(app, fleet, project, fleet.config.roles.watchdog)


# --- research --------------------------------------------------------------------------------------------------


def _research(app: AppContext, fleet: Fleet, project: Project, role: ResearchRole) -> None:
    store = app.store
    free = role.max_concurrent - _open(store, project, "research")
    if free <= 0:
        return
    due = research_due(
        role.triggers,
        [row[0] for row in store.execute(WAITING_SEEDS, (project.id, *KILLED, free * SEEDS))],
        free=free,
        wanted=lambda: min(_missing(app, fleet, project, role), role.max_ideas),
        may_look=lambda: _may_look(app, project),
    )
    for sweep in due:
        with app.transaction():
            sweep_id = _queue(app, fleet, project, "research", sweep.trigger, ideas=sweep.ideas)
            if sweep_id is None:
                return
            if sweep.seeds:
                _give_seeds(store, sweep_id, sweep.seeds)


def _give_seeds(store: Store, sweep_id: int, seeds: Sequence[int]) -> None:
    marks = ", ".join("?" for _ in seeds)
    store.execute(
        f"UPDATE ideas SET sweep_id = ?, sweeps = sweeps + 1, actor = ? WHERE id IN ({marks})",  # noqa: S608
        (sweep_id, ACTOR, *seeds),
    )


def _missing(app: AppContext, fleet: Fleet, project: Project, role: ResearchRole) -> int:
    store = app.store
    coming = store.execute(
        f"SELECT coalesce(sum(ideas), 0) FROM sweeps WHERE project_id = ? AND role = 'research' AND {OPEN}",  # noqa: S608
        (project.id,),
    ).fetchone()[0]
    limit, slots = fleet.config.stop.max_runs, fleet.config.roles.worker.max_concurrent
    waiting = store.execute(BACKLOG, (project.id, slots + role.buffer)).fetchone()[0]
    return shortage(
        Backlog(waiting=waiting, coming=coming),
        slots=slots,
        buffer=role.buffer,
        runs_left=None if limit is None else max(0, limit - attempts_so_far(store, project.id)),
    )


def attempts_so_far(store: Store, project_id: int) -> int:
    """The runs of a project that count as attempts, open ones included."""
    count: int = store.execute(
        "SELECT count(*) FROM runs WHERE project_id = ? AND counts = 1", (project_id,)
    ).fetchone()[0]
    return count


def _may_look(app: AppContext, project: Project) -> bool:
    store = app.store
    past = fetch(
        store,
        Sweep,
        "WHERE project_id = ? AND role = 'research' AND state IN ('done', 'failed', 'timed_out')"
        " ORDER BY id DESC LIMIT ?",
        project.id,
        PAST,
    )
    since = past[0].queued_at if past else ""
    ended = "SELECT count(*) FROM runs WHERE project_id = ? AND counts = 1 AND settled_at > ?"
    runs_since = store.execute(ended, (project.id, since)).fetchone()[0]
    return may_look([_past(store, sweep) for sweep in past], runs_since=runs_since, now=app.now().timestamp())


def _past(store: Store, sweep: Sweep) -> PastSweep:
    return PastSweep(
        queued=parse_timestamp(sweep.queued_at).timestamp(),
        finished=parse_timestamp(sweep.finished_at or sweep.queued_at).timestamp(),
        ideas=store.execute(BROUGHT, {"sweep": sweep.id}).fetchone()[0],
        killed=sweep.state in KILLED,
    )


# --- the watchdog ----------------------------------------------------------------------------------------------


def _watchdog(app: AppContext, fleet: Fleet, project: Project, role: WatchdogRole) -> None:
    store = app.store
    if _open(store, project, "watchdog") >= role.max_concurrent:
        return
    since = _reviewed(store, project)
    given = {"project": project.id, "since": since}
    trigger = watchdog_due(
        role.triggers,
        _watchdog_facts(store, project, since),
        interval=role.interval,
        now=app.now().timestamp(),
        active=lambda: store.execute(ACTIVE, given).fetchone() is not None,
    )
    if trigger is None:
        return
    with app.transaction():
        sweep_id = _queue(app, fleet, project, "watchdog", trigger)
        if sweep_id is not None:
            # A sweep for incidents takes all of them; what is only worth a look waits for a review.
            which = "AND incident = 1" if trigger == "incident" else ""
            store.execute(
                f"UPDATE anomalies SET sweep_id = ? WHERE project_id = ? AND sweep_id IS NULL {which}",  # noqa: S608
                (sweep_id, project.id),
            )


def _watchdog_facts(store: Store, project: Project, since: str | None) -> WatchdogFacts:
    given = {"project": project.id, "stopped": project.stopped_at}
    row = store.execute(WATCHDOG_FACTS, given).fetchone()
    return WatchdogFacts(
        stopped=project.state == "stopped",
        open_run=bool(row["open_run"]),
        closed=bool(row["closed"]),
        incident=bool(row["incident"]),
        since=parse_timestamp(since).timestamp() if since is not None else None,
    )


def _reviewed(store: Store, project: Project) -> str | None:
    """When the last review was queued, or else the first run; None before any run."""
    first = "SELECT queued_at FROM runs WHERE project_id = ? ORDER BY id LIMIT 1"
    run = store.execute(first, (project.id,)).fetchone()
    reviews = "WHERE project_id = ? AND role = 'watchdog' AND trigger <> 'incident' ORDER BY id DESC"
    last = find(store, Sweep, reviews, project.id)
    if run is None:
        return None
    return last.queued_at if last is not None else run[0]


# --- both ------------------------------------------------------------------------------------------------------


def _open(store: Store, project: Project, role: str) -> int:
    count: int = store.execute(
        f"SELECT count(*) FROM sweeps WHERE project_id = ? AND role = ? AND {OPEN}",  # noqa: S608
        (project.id, role),
    ).fetchone()[0]
    return count


def busy_harnesses(store: Store, project_id: int) -> list[tuple[str, int | None, str]]:
    """The harness, idea and role of whatever is queued or running in a project."""
    rows = store.execute(
        f"SELECT harness, idea_id, 'worker' FROM runs WHERE project_id = :project AND {OPEN}"  # noqa: S608
        f" UNION ALL SELECT harness, NULL, role FROM sweeps WHERE project_id = :project AND {OPEN}",
        {"project": project_id},
    )
    return [(row[0], row[1], row[2]) for row in rows]


def _queue(
    app: AppContext, fleet: Fleet, project: Project, role: SweepRole, trigger: SweepTrigger, *, ideas: int = 0
) -> int | None:
    """Queue a sweep on the harness whose turn it is; None when all are full."""
    store = app.store
    configured = fleet.config.role(role)
    turn = store.execute("SELECT count(*) FROM sweeps WHERE project_id = ? AND role = ?", (project.id, role))
    rotation = Rotation(
        harnesses=fleet.harnesses.known(configured.harnesses or fleet.rotation),
        turn=turn.fetchone()[0],
        caps={**fleet.config.max_concurrent, **dict.fromkeys(held_harnesses(app, project), 0)},
    )
    busy = Counter(harness for harness, _, _ in busy_harnesses(store, project.id))
    harness = rotation.choose(rotation.turn, busy)
    if harness is None:
        return None
    assert project.head_id is not None, "a project without a head gets no sweep"
    return Sweep.insert(
        store,
        project_id=project.id,
        role=role,
        trigger=trigger,
        ideas=ideas,
        harness=harness,
        model=configured.model.get(harness),
        base_id=project.head_id,
        actor=ACTOR,
    )
