"""Queues runs for ready ideas, and sees that every run which is not settled has a task that lives it."""

from __future__ import annotations

import time
from collections.abc import Mapping

import anyio
import anyio.abc
import msgspec

from herdr.campaign.links import Link, blocked_by
from herdr.campaign.queue import OpenRun, ReadyIdea, Rotation, Start, next_runs
from herdr.campaign.words import IdeaStatus
from herdr.daemon.judging import bar_of
from herdr.daemon.life import live
from herdr.daemon.world import ACTOR, Fleet, World
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Idea, Project, Run, fetch, find, get, insert, update

#: Seconds until a run whose task failed is tried again; doubled each time.
RETRY, RETRY_LIMIT = 2.0, 300.0
#: Seconds between passes when nothing rings the bell.
QUIET = 10.0


class Trouble(msgspec.Struct):
    """A run whose task failed: how often in a row, and when to try again."""

    failures: int
    retry_at: float


class Scheduler:
    """Decides what starts. All it knows is in the store; what it holds is only which tasks it has started."""

    def __init__(self, world: World, tasks: anyio.abc.TaskGroup) -> None:
        self._world = world
        self._tasks = tasks
        self._lives: set[int] = set()
        self._trouble: dict[int, Trouble] = {}

    async def run(self) -> None:
        """Make a pass whenever something changed, until cancelled."""
        while True:
            await self._world.guard("scheduling", self._pass)
            await self._world.bell.wait(self._patience())

    def _patience(self) -> float:
        """Seconds until a pass is worth making even if nothing happens."""
        now = time.monotonic()
        retries = [one.retry_at - now for one in self._trouble.values() if one.retry_at > now]
        return min([*retries, QUIET]) + 0.01

    async def _pass(self) -> None:
        if self._world.ending:
            return
        for fleet in list(self._world.fleets.values()):
            queue_runs(self._world, fleet)
            self._start_lives(fleet)

    def _start_lives(self, fleet: Fleet) -> None:
        open_runs = fetch(
            self._world.store, Run, "WHERE project_id = ? AND settled_at IS NULL ORDER BY id", fleet.project_id
        )
        now = time.monotonic()
        for run in open_runs:
            trouble = self._trouble.get(run.id)
            if run.id not in self._lives and (trouble is None or trouble.retry_at <= now):
                self._lives.add(run.id)
                self._tasks.start_soon(self._live, fleet.project_id, run.id)

    async def _live(self, project_id: int, run_id: int) -> None:
        async def work() -> None:
            await live(self._world, self._world.fleets[project_id], run_id)

        try:
            if await self._world.guard(f"run#{run_id}", work, project_id):
                self._trouble.pop(run_id, None)
            else:
                failures = self._trouble[run_id].failures + 1 if run_id in self._trouble else 1
                delay = min(RETRY * 2 ** (failures - 1), RETRY_LIMIT)
                self._trouble[run_id] = Trouble(failures, time.monotonic() + delay)
        finally:
            self._lives.discard(run_id)
            self._world.bell.ring()


def queue_runs(world: World, fleet: Fleet) -> list[int]:
    """Queue runs for the most urgent ready ideas while slots are free, and return the runs' ids."""
    store = world.store
    project = get(store, Project, fleet.project_id)
    if project.state != "active" or project.head_id is None or not fleet.rotation:
        return []
    ready = _ready_ideas(store, project)
    if not ready:
        return []
    role = fleet.config.role("worker")
    starts = next_runs(
        ready,
        _open_runs(store, project.id),
        Rotation(
            harnesses=fleet.rotation,
            turn=store.execute("SELECT count(*) FROM runs WHERE project_id = ?", (project.id,)).fetchone()[0],
            caps=fleet.config.max_concurrent,
            models=role.model,
        ),
        slots=role.max_concurrent,
        head=project.head_id,
    )
    with world.transaction():
        return [_queue(store, project, start) for start in starts]


def _ready_ideas(store: Store, project: Project) -> list[ReadyIdea]:
    ideas = fetch(store, Idea, "WHERE project_id = ? AND status = 'ready' ORDER BY priority, id", project.id)
    if not ideas:
        return []
    links, statuses = _links(store, project.id)
    return [
        ReadyIdea(
            id=idea.id,
            priority=idea.priority,
            blocked_by=blocked_by(idea.id, links, statuses) if links else (),
            harness=idea.harness,
            base=idea.base_id,
            base_bar=_bar_id(store, idea.base_id),
        )
        for idea in ideas
    ]


def _links(store: Store, project_id: int) -> tuple[list[Link], Mapping[int, IdeaStatus]]:
    rows = store.execute(
        "SELECT l.idea_id, l.target_id, l.kind FROM idea_links l JOIN ideas i ON i.id = l.idea_id"
        " WHERE i.project_id = ? AND i.status = 'ready'",
        (project_id,),
    ).fetchall()
    if not rows:
        return [], {}
    statuses = dict(store.execute("SELECT id, status FROM ideas WHERE project_id = ?", (project_id,)).fetchall())
    return [Link(idea=row[0], target=row[1], kind=row[2]) for row in rows], statuses


def _bar_id(store: Store, base_id: int | None) -> int | None:
    if base_id is None:
        return None
    base = find(store, Candidate, "WHERE id = ?", base_id)
    return bar_of(store, base).id if base is not None else None


def _open_runs(store: Store, project_id: int) -> list[OpenRun]:
    rows = store.execute(
        "SELECT harness, idea_id FROM runs WHERE project_id = ? AND state IN ('queued', 'running')", (project_id,)
    )
    return [OpenRun(harness=harness, idea=idea) for harness, idea in rows]


def _queue(store: Store, project: Project, start: Start) -> int:
    number = store.execute("SELECT count(*) + 1 FROM runs WHERE idea_id = ?", (start.idea,)).fetchone()[0]
    update(store, Idea, start.idea, {"status": "scheduled", "actor": ACTOR})
    idea = get(store, Idea, start.idea)
    return insert(
        store,
        Run,
        {
            "project_id": project.id,
            "idea_id": start.idea,
            "number": number,
            "base_id": start.base,
            "is_branch": start.branch,
            "harness": start.harness,
            "model": idea.model or start.model,
            "actor": ACTOR,
        },
    )
