"""The scoring lanes: queued measurements, oldest first, as many at once as `max_evaluations` allows."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread
import msgspec

from herdr.contract.facts import EvaluationRequest, EvaluationResult, ProjectInfo
from herdr.daemon.app_context import ACTOR, AppContext, Fleet, base_environment
from herdr.runtime.processes import mark
from herdr.scoring.evaluator import Definition, read_definition
from herdr.scoring.measure import Job, ScoringResult, evaluator_environment, measure
from herdr.store.rows import Candidate, Evaluator, Measurement, fetch, get

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from herdr.store.columns import MeasurementChanges

#: Seconds to wait after a scoring failed for a reason of ours, such as a full disk.
RETRY = 5.0
QUIET = 10.0


class Lanes:
    """Runs measurements. A crash in mid-scoring leaves a row `running`, which the next daemon queues again."""

    def __init__(self, app: AppContext, tasks: anyio.abc.TaskGroup) -> None:
        self._app = app
        self._tasks = tasks
        self._busy: dict[int, int] = {}

    async def run(self) -> None:
        """Start scorings as lanes become free, until cancelled."""
        while True:
            await self._app.guard("the scoring lanes", self._fill)
            await self._app.changes.wait(QUIET)

    async def _fill(self) -> None:
        for fleet in list(self._app.fleets.values()):
            free = fleet.config.max_evaluations - sum(p == fleet.project_id for p in self._busy.values())
            if free <= 0:
                continue
            waiting = fetch(
                self._app.store,
                Measurement,
                "JOIN candidates c ON c.id = measurements.candidate_id"
                " WHERE measurements.state = 'queued' AND c.project_id = ? ORDER BY measurements.id LIMIT ?",
                fleet.project_id,
                free + len(self._busy),
            )
            for row in [one for one in waiting if one.id not in self._busy][:free]:
                self._busy[row.id] = fleet.project_id
                self._tasks.start_soon(self._lane, fleet, row)

    async def _lane(self, fleet: Fleet, row: Measurement) -> None:
        try:
            done = await self._app.guard(
                f"scoring candidate#{row.candidate_id}", partial(score, self._app, fleet, row), fleet.project_id
            )
            if not done:
                await anyio.sleep(RETRY)
        finally:
            self._busy.pop(row.id, None)
            self._app.changes.notify()


async def score(app: AppContext, fleet: Fleet, row: Measurement) -> None:
    """Carry out one queued measurement and write its result.

    Args:
        app: the daemon.
        fleet: the project.
        row: the measurement, which is `queued`.

    Raises:
        HerdrError: it could not be carried out for a reason that is not the candidate's; it stays queued.
    """
    candidate = get(app.store, Candidate, row.candidate_id)
    evaluator = get(app.store, Evaluator, row.evaluator_id)
    job = job_for(app, fleet, row, candidate, evaluator)
    _write(app, row, state="running", started_at=app.timestamp())
    try:
        result = await measure(job, partial(_elsewhere, app, fleet, candidate, job))
    except BaseException:
        _write(app, row, state="queued", started_at=None)
        raise
    _write(
        app,
        row,
        state="done",
        metrics=msgspec.json.encode(result.metrics).decode(),
        error=result.error,
        seconds=round(result.seconds, 3),
        finished_at=app.timestamp(),
    )
    if result.error is None:
        await anyio.to_thread.run_sync(partial(shutil.rmtree, job.folder, ignore_errors=True))


def job_for(app: AppContext, fleet: Fleet, row: Measurement, candidate: Candidate, evaluator: Evaluator) -> Job:
    """The scoring that a measurement asks for.

    Args:
        app: the daemon.
        fleet: the project.
        row: the measurement.
        candidate: its candidate.
        evaluator: the evaluator that it is measured by.
    """
    definition: Definition = read_definition(evaluator)
    return Job(
        root=fleet.root,
        commit=candidate.commit_sha,
        evaluator_commit=evaluator.commit_sha,
        protected=definition.protected,
        argv=definition.argv,
        metrics=[name for name, _ in definition.metrics],
        link=definition.link,
        workspace=app.home.workspace(fleet.name),
        timeout=fleet.config.evaluate_timeout,
        env=evaluator_environment(base_environment(), fleet.config.evaluate_env),
        folder=app.home.evaluation_dir(row.id),
        mark=mark(app.home, f"evaluation-{row.id}"),
    )


async def _elsewhere(app: AppContext, fleet: Fleet, candidate: Candidate, job: Job) -> ScoringResult | None:
    """Ask the plugins; None when none of them takes it."""
    if not app.host.implements("herdr_evaluate"):
        return None
    request = EvaluationRequest(
        candidate_id=candidate.id,
        project=ProjectInfo(id=fleet.project_id, name=fleet.name, path=fleet.root),
        worktree=job.worktree,
        argv=job.argv,
        env=job.env,
        timeout=job.timeout,
        log_dir=job.folder,
        metrics=job.metrics,
    )
    result: EvaluationResult | None = await app.host.first("herdr_evaluate", request=request)
    return (
        None
        if result is None
        else ScoringResult(metrics=dict(result.metrics), error=result.error, seconds=result.seconds)
    )


def _write(app: AppContext, row: Measurement, **values: Unpack[MeasurementChanges]) -> None:
    with app.transaction() as store:
        Measurement.update(store, row.id, **values, actor=ACTOR)
