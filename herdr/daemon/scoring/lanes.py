"""The scoring lanes: queued measurements, oldest first, as many at once as `max_evaluations` allows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import anyio.abc
import anyio.to_thread
import msgspec

from herdr.contract.facts import EvaluationRequest, EvaluationResult, ProjectInfo
from herdr.daemon.app_context import ACTOR, AppContext, Fleet, base_environment
from herdr.daemon.scoring.holding import LinkedChangedError, borrowed, hold
from herdr.errors import describe
from herdr.repo.prints import Mark, changes, look, meddled
from herdr.runtime.processes import mark
from herdr.scoring.contents import EvaluatorDiffersError
from herdr.scoring.evaluator import Definition, complete, read_definition
from herdr.scoring.measure import Job, ScoringResult, evaluator_environment, measure
from herdr.scoring.set_up import command_for, what_it_reads
from herdr.store.rows import Candidate, Comment, Evaluator, Measurement, Run, fetch, get, get_or_none

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from herdr.store.columns import MeasurementChanges

#: Seconds to wait after a scoring failed for a reason of ours, such as a full disk: at first, and at most.
RETRY, LONGEST = 5.0, 300.0
#: So many failures in a row are no passing trouble: a person is told.
TELL_AFTER = 3
PRIORITY = 1
QUIET = 10.0


class Setback(msgspec.Struct, frozen=True, kw_only=True):
    """A scoring that failed for a reason of ours: how often in a row, and when to try again."""

    failures: int
    retry_at: float


class Lanes:
    """Runs measurements. A crash in mid-scoring leaves a row `running`, which the next daemon queues again."""

    def __init__(self, app: AppContext, tasks: anyio.abc.TaskGroup) -> None:
        self._app = app
        self._tasks = tasks
        self._busy: dict[int, int] = {}
        self._setbacks: dict[int, Setback] = {}

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
            for row in self._waiting(fleet)[:free]:
                self._busy[row.id] = fleet.project_id
                self._tasks.start_soon(self._lane, fleet, row)

    def _waiting(self, fleet: Fleet) -> list[Measurement]:
        queued = fetch(
            self._app.store,
            Measurement,
            "JOIN candidates c ON c.id = measurements.candidate_id"
            " WHERE measurements.state = 'queued' AND c.project_id = ? ORDER BY measurements.id LIMIT ?",
            fleet.project_id,
            fleet.config.max_evaluations + len(self._busy) + len(self._setbacks),
        )
        now = time.monotonic()
        later = {number for number, setback in self._setbacks.items() if setback.retry_at > now}
        return [one for one in queued if one.id not in self._busy and one.id not in later]

    async def _lane(self, fleet: Fleet, row: Measurement) -> None:
        try:
            await self._app.guard(
                f"scoring candidate#{row.candidate_id}", partial(self._try, fleet, row), fleet.project_id
            )
        finally:
            self._busy.pop(row.id, None)
            self._app.changes.notify()

    async def _try(self, fleet: Fleet, row: Measurement) -> None:
        try:
            await score(self._app, fleet, row)
        except Exception as error:
            self._set_back(fleet, row, error)
            raise
        self._setbacks.pop(row.id, None)

    def _set_back(self, fleet: Fleet, row: Measurement, error: Exception) -> None:
        failures = self._setbacks[row.id].failures + 1 if row.id in self._setbacks else 1
        self._setbacks[row.id] = Setback(failures=failures, retry_at=time.monotonic() + pause_after(failures))
        if failures >= TELL_AFTER or isinstance(error, (EvaluatorDiffersError, LinkedChangedError)):
            tell_person(self._app, fleet.project_id, row.candidate_id, error)


def pause_after(failures: int) -> float:
    """Seconds until a scoring is tried again that has failed so often in a row for a reason of ours."""
    return min(RETRY * 2.0 ** min(failures - 1, 10), LONGEST)


def tell_person(app: AppContext, project_id: int, candidate_id: int, error: Exception) -> None:
    """Tell a person that a candidate cannot be scored; the same once.

    Args:
        app: the daemon.
        project_id: whose it is.
        candidate_id: the candidate.
        error: what keeps it from being scored.
    """
    fix = getattr(error, "fix", None)
    body = f"cannot be scored: {describe(error)}" + (f"; {fix}" if fix else "")
    body += ". That is no fault of the candidate's: it gets no verdict, and is tried again."
    known = "SELECT 1 FROM comments WHERE target_kind = 'candidate' AND target_id = ? AND actor = ? AND body = ?"
    with app.transaction() as store:
        if store.execute(known, (candidate_id, ACTOR, body)).fetchone() is None:
            Comment.insert(
                store,
                project_id=project_id,
                target_kind="candidate",
                target_id=candidate_id,
                kind="escalation",
                priority=PRIORITY,
                body=body,
                actor=ACTOR,
            )


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
    _write(app, row, state="running", started_at=app.timestamp())
    try:
        definition = await _definition(app, fleet, evaluator)
        job = job_for(app, fleet, row, candidate, evaluator, definition)
        before = await anyio.to_thread.run_sync(look, fleet.own, borrowed(fleet))
        result = await measure(job, partial(_elsewhere, app, fleet, candidate, job))
        changed = await anyio.to_thread.run_sync(_changed, fleet, before)
        run = get_or_none(app.store, Run, candidate.run_id)
        if changed and (run is None or get(app.store, Candidate, candidate.id).verdict is not None):
            # Others are judged by it: a score that says nothing must not take the place of one that does.
            raise LinkedChangedError(changed, candidate.id)
    except BaseException:
        _write(app, row, state="queued", started_at=None)
        raise
    with app.transaction() as store:
        _write(
            app,
            row,
            state="done",
            metrics=msgspec.json.encode(result.metrics).decode(),
            error=result.error,
            seconds=round(result.seconds, 3),
            finished_at=app.timestamp(),
        )
        # A person may have decided meanwhile, so that it counts no more.
        if changed and run is not None and get(store, Measurement, row.id).purpose != "earlier":
            hold(store, [candidate], changed, run)


def _changed(fleet: Fleet, before: Mapping[str, Mapping[str, Mark]]) -> list[str]:
    """The linked files that are not what a person agreed to, or that were written to during a scoring."""
    link = borrowed(fleet)
    return sorted({*changes(fleet.own, link), *meddled(before, look(fleet.own, link))})


async def _definition(app: AppContext, fleet: Fleet, evaluator: Evaluator) -> Definition:
    """The evaluator's definition; one that an older herdr stored is completed for good."""
    stored = read_definition(evaluator)
    found = await anyio.to_thread.run_sync(complete, stored, fleet.own, evaluator.commit_sha)
    if found is not stored:
        with app.transaction() as store:
            Evaluator.update(store, evaluator.id, definition=msgspec.json.encode(found).decode(), actor=ACTOR)
    return found


def job_for(
    app: AppContext,
    fleet: Fleet,
    row: Measurement,
    candidate: Candidate,
    evaluator: Evaluator,
    definition: Definition,
) -> Job:
    """The scoring that a measurement asks for.

    Args:
        app: the daemon.
        fleet: the project.
        row: the measurement.
        candidate: what is measured.
        evaluator: by what.
        definition: what that is.
    """
    settings, env = fleet.config.setup, evaluator_environment(base_environment(), fleet.config.evaluate_env)
    own = mark(app.home, f"evaluation-{row.id}")
    run = get_or_none(app.store, Run, candidate.run_id)
    return Job(
        own=fleet.own,
        commit=candidate.commit_sha,
        evaluator_commit=evaluator.commit_sha,
        protected=definition.protected,
        contents=definition.contents,
        argv=definition.argv,
        metrics=[name for name, _ in definition.metrics],
        link=definition.link,
        shared=definition.shared,
        base=get(app.store, Candidate, run.base_id).commit_sha if run is not None else None,
        setup=command_for(settings, definition.setup, env, own),
        setup_reads=what_it_reads(settings, fleet.root, definition.setup),
        timeout=fleet.config.evaluate_timeout,
        env=env,
        folder=app.home.evaluation_dir(row.id),
        mark=own,
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
