"""Queues runs for ready ideas, and sees that every run and sweep which is not over has a task that drives it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import anyio
import anyio.abc
import msgspec

from herdr.campaign.queue import Exploring, OpenRun, ReadyIdea, Rotation, Start, next_runs
from herdr.daemon.anomalies import note_silence, report
from herdr.daemon.app_context import ACTOR, AppContext, Fleet, Work
from herdr.daemon.launch_block import held_harnesses, launch_block, project_launch_block
from herdr.daemon.runs.agents import agent_at_work
from herdr.daemon.runs.run_loop import drive_run, give_up
from herdr.daemon.runs.sweep_loop import drive_sweep, give_up_sweep
from herdr.daemon.scheduling.circuit_breaker import reconcile_circuit_breaker
from herdr.daemon.scheduling.links import reconcile_links
from herdr.daemon.scheduling.stopping import Stopping
from herdr.daemon.scheduling.sweeps import attempts_so_far, busy_harnesses, queue_sweeps
from herdr.errors import HerdrError
from herdr.store.connection import Store
from herdr.store.failures import StoreError
from herdr.store.queries import unsettled_runs
from herdr.store.rows import Anomaly, Candidate, Idea, Project, Run, Sweep, fetch, find, get, get_or_none
from herdr.trunk.reading import bar_of

#: Seconds until a run whose task failed is tried again; doubled each time.
RETRY, RETRY_LIMIT = 2.0, 300.0
#: So many failures in a row of a run or a sweep that is under way are its end.
GIVE_UP = 5
#: Seconds between passes when nothing has changed.
QUIET = 10.0
#: Seconds between looks for agents that have gone silent; each of these may cost a git process.
LISTEN = 60.0
#: Sweeps that are not over, or whose worktree is still to be removed.
OPEN_SWEEPS = "WHERE project_id = ? AND (state IN ('queued', 'running') OR worktree IS NOT NULL) ORDER BY id"

#: A run or a sweep, by its kind and its id.
Job = tuple[type[Work], int]


class BackOff(msgspec.Struct):
    """A run or a sweep whose task failed: how often in a row, when to try again, and if that was cut short."""

    failures: int
    retry_at: float
    hurried: bool = False


class Scheduler:
    """Decides what starts. What it decides by is in the store; it remembers only which tasks it has started."""

    def __init__(self, app: AppContext, tasks: anyio.abc.TaskGroup) -> None:
        self._app = app
        self._tasks = tasks
        self._stopping = Stopping(app)
        self._driven: set[Job] = set()
        self._back_off: dict[Job, BackOff] = {}
        self._linked: dict[int, int] = {}
        self._listen_at: dict[int, float] = {}

    async def run(self) -> None:
        """Make a pass whenever something changed, until cancelled."""
        while True:
            for fleet in list(self._app.fleets.values()):
                work = partial(self._pass, fleet)
                await self._app.guard(f"scheduling {fleet.name}", work, fleet.project_id)
            self._app.passed_at = time.monotonic()
            await self._app.changes.wait(self._patience())

    def _patience(self) -> float:
        """Seconds until a pass is worth making even if nothing happens."""
        now = time.monotonic()
        retries = [one.retry_at - now for one in self._back_off.values() if one.retry_at > now]
        return min([*retries, QUIET]) + 0.01

    async def _pass(self, fleet: Fleet) -> None:
        if self._app.ending:
            self._start_tasks(fleet)
            return
        self._reconcile_links(fleet)
        self._stopping.reconcile(fleet)
        await reconcile_circuit_breaker(self._app, fleet)
        if time.monotonic() >= self._listen_at.get(fleet.project_id, 0.0):
            self._listen_at[fleet.project_id] = time.monotonic() + LISTEN
            await note_silence(self._app, fleet)
        queue_sweeps(self._app, fleet)
        queue_runs(self._app, fleet)
        self._start_tasks(fleet)

    def _reconcile_links(self, fleet: Fleet) -> None:
        """Look at the links if an idea was added, moved or linked since the last look."""
        store = self._app.store
        seen = self._linked.get(fleet.project_id)
        newest = store.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
        moved = "SELECT 1 FROM events WHERE id > ? AND project_id = ? AND kind GLOB 'idea.*'"
        if seen is None or store.execute(moved, (seen, fleet.project_id)).fetchone() is not None:
            reconcile_links(self._app, fleet.project_id)
        self._linked[fleet.project_id] = newest

    def _start_tasks(self, fleet: Fleet) -> None:
        store, now = self._app.store, time.monotonic()
        runs = unsettled_runs(store, fleet.project_id)
        sweeps = fetch(store, Sweep, OPEN_SWEEPS, fleet.project_id)
        works: list[Work] = [*runs, *sweeps]
        for work in works:
            job: Job = (type(work), work.id)
            if job not in self._driven and not self._waits(job, work, now) and not self._is_held(work):
                self._driven.add(job)
                self._tasks.start_soon(self._drive, fleet.project_id, job)

    def _waits(self, job: Job, work: Work, now: float) -> bool:
        """Whether it failed a short while ago; a cancel, or the end of all agents, does not wait for that."""
        back_off = self._back_off.get(job)
        if back_off is None or back_off.retry_at <= now:
            return False
        urgent = (work.cancel_requested or self._app.ending) and not back_off.hurried
        back_off.hurried = back_off.hurried or urgent
        return not urgent

    def _is_held(self, work: Work) -> bool:
        """Whether it stays as it is for now, because nothing may be launched."""
        if self._app.ending:
            return agent_at_work(self._app.store, work) is None
        return work.state == "queued" and launch_block(self._app, work) in ("paused", "held", "ending")

    async def _drive(self, project_id: int, job: Job) -> None:
        kind, number = job
        failure: list[Exception] = []

        async def work() -> None:
            drive = drive_run if kind is Run else drive_sweep
            try:
                await drive(self._app, self._app.fleets[project_id], number)
            except Exception as error:
                failure.append(error)
                raise

        try:
            if await self._app.guard(f"{kind.__name__.lower()}#{number}", work, project_id):
                self._back_off.pop(job, None)
            else:
                await self._failed(project_id, job, failure[0])
        finally:
            self._driven.discard(job)
            self._app.changes.notify()

    async def _failed(self, project_id: int, job: Job, error: Exception) -> None:
        """Try it again later, or give it up: a cancel always wins, and no run fails for ever."""
        kind, number = job
        before = self._back_off.get(job)
        failures = before.failures + 1 if before is not None else 1
        delay = min(RETRY * 2 ** (failures - 1), RETRY_LIMIT)
        hurried = before is not None and before.hurried
        self._back_off[job] = BackOff(failures, time.monotonic() + delay, hurried)
        row = get(self._app.store, kind, number)
        under_way = row.state != "queued" and failures >= GIVE_UP
        # Without a store nothing can be written, not even that it is given up.
        if isinstance(first_of(error), StoreError) or not (under_way or row.cancel_requested or self._app.ending):
            return

        async def end() -> None:
            drop = give_up if kind is Run else give_up_sweep
            await drop(self._app, self._app.fleets[project_id], number, _said(error))

        if await self._app.guard(f"giving up {kind.__name__.lower()}#{number}", end, project_id):
            self._back_off.pop(job, None)


def first_of(error: BaseException) -> BaseException:
    """The first failure of those that tasks side by side ended with."""
    while inner := getattr(error, "exceptions", ()):
        error = inner[0]
    return error


def _said(error: BaseException) -> str:
    first = first_of(error)
    return first.message if isinstance(first, HerdrError) else f"{type(first).__name__}: {first}"


def queue_runs(app: AppContext, fleet: Fleet) -> list[int]:
    """Queue runs for the most urgent ready ideas while slots are free, and return the runs' ids."""
    store = app.store
    project = app.project(fleet.project_id)
    if (
        project.state != "active"
        or project.head_id is None
        or not fleet.rotation
        or project_launch_block(app, project)
    ):
        return []
    role = fleet.config.roles.worker
    under_way = [OpenRun(harness=h, idea=i, role=r) for h, i, r in busy_harnesses(store, project.id)]
    slots = role.max_concurrent
    if fleet.config.stop.max_runs is not None:
        # Runs under way are attempts as well, so the last of them is not cut short by the limit.
        left = fleet.config.stop.max_runs - attempts_so_far(store, project.id)
        slots = min(slots, left + sum(run.role == "worker" for run in under_way))
    if sum(run.role == "worker" for run in under_way) >= slots:
        return []
    starts = next_runs(
        _ready_ideas(store, project),
        under_way,
        _rotation(app, fleet, project),
        slots=slots,
        head=project.head_id,
        exploring=_exploring(store, project, role.explore_every),
    )
    if not starts:
        _report_idle(app, project)
        return []
    with app.transaction():
        return [_queue(store, project, start) for start in starts]


def _rotation(app: AppContext, fleet: Fleet, project: Project) -> Rotation:
    return Rotation(
        harnesses=fleet.rotation,
        turn=app.store.execute("SELECT count(*) FROM runs WHERE project_id = ?", (project.id,)).fetchone()[0],
        caps={**fleet.config.max_concurrent, **dict.fromkeys(held_harnesses(app, project), 0)},
        models=fleet.config.role("worker").model,
    )


def _ready_ideas(store: Store, project: Project, also: str = "") -> Iterator[ReadyIdea]:
    """The ideas that nothing blocks, most urgent first, read one by one as they are asked for."""
    rows = store.execute(
        "SELECT i.id, i.priority, i.harness, i.base_id FROM ideas i WHERE i.project_id = ? AND i.status = 'ready'"  # noqa: S608
        " AND NOT EXISTS (SELECT 1 FROM idea_links l JOIN ideas t ON t.id = l.target_id"
        f" WHERE l.idea_id = i.id AND l.kind = 'after' AND t.status <> 'done') {also} ORDER BY i.priority, i.id",
        (project.id,),
    )
    for number, priority, harness, base in rows:
        bar = _bar_id(store, base)
        yield ReadyIdea(id=number, priority=priority, harness=harness, base=base, base_bar=bar)


def _exploring(store: Store, project: Project, every: int) -> Exploring:
    """How long no run started from a pinned idea, and the pinned ideas if one has to now."""
    if not every:
        return Exploring()
    latest = store.execute(
        "SELECT i.base_id FROM runs r JOIN ideas i ON i.id = r.idea_id WHERE r.project_id = ?"
        " ORDER BY r.id DESC LIMIT ?",
        (project.id, every),
    ).fetchall()
    plain = next((n for n, row in enumerate(latest) if row[0] is not None), len(latest))
    pinned = tuple(_ready_ideas(store, project, "AND i.base_id NOT NULL"))
    return Exploring(every=every, plain=plain, pinned=pinned)


def _bar_id(store: Store, base_id: int | None) -> int | None:
    if base_id is None:
        return None
    base = get_or_none(store, Candidate, base_id)
    return bar_of(store, base).id if base is not None else None


def _report_idle(app: AppContext, project: Project) -> None:
    """Slots are free and nothing can run: told once after each run."""
    last = app.store.execute("SELECT max(id) FROM runs WHERE project_id = ?", (project.id,)).fetchone()[0]
    known = "WHERE project_id = ? AND kind = 'idle_queue' AND target_kind = 'run' AND target_id = ?"
    if last is None or find(app.store, Anomaly, known, project.id, last) is not None:
        return
    detail = f"nothing could be started after run#{last}: no idea is ready that nothing blocks"
    with app.transaction() as store:
        report(store, project.id, "idle_queue", ("run", last), detail, incident=False)


def _queue(store: Store, project: Project, start: Start) -> int:
    number = store.execute("SELECT count(*) + 1 FROM runs WHERE idea_id = ?", (start.idea,)).fetchone()[0]
    Idea.update(store, start.idea, status="scheduled", actor=ACTOR)
    idea = get(store, Idea, start.idea)
    return Run.insert(
        store,
        project_id=project.id,
        idea_id=start.idea,
        number=number,
        base_id=start.base,
        is_branch=start.branch,
        harness=start.harness,
        model=idea.model or start.model,
        actor=ACTOR,
    )
