"""Judges a candidate again once it has been scored again, as a person asked; the head follows."""

from __future__ import annotations

from functools import partial

from herdr.campaign.verdict import Verdict
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.scoring.judging import bar_of, score_of, verdict_on, want_score, write_verdict
from herdr.daemon.scoring.rebase import rebase
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Project, Run, fetch, find, get, update

QUIET = 10.0


class Rejudging:
    """Looks for candidates that are to be judged again and have their new score."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    async def run(self) -> None:
        """Judge again whenever something changed, until cancelled."""
        while True:
            for fleet in list(self._app.fleets.values()):
                waiting = fetch(
                    self._app.store, Candidate, "WHERE project_id = ? AND judge_again = 1", fleet.project_id
                )
                for candidate in waiting:
                    work = partial(judge_again, self._app, fleet, candidate)
                    what = f"judging candidate#{candidate.id} again"
                    await self._app.guard(what, work, fleet.project_id)
            await self._app.changes.wait(QUIET)


async def judge_again(app: AppContext, fleet: Fleet, candidate: Candidate) -> None:
    """Judge one candidate by its new score if that is there, against what it was judged against before."""
    bar = _bar(app.store, candidate)
    if not _scored(app, candidate, bar):
        return
    with app.transaction() as store:
        project = get(store, Project, candidate.project_id)
        run = find(store, Run, "WHERE id = ?", candidate.run_id)
        verdict = verdict_on(store, fleet, project, candidate, bar)
        passed_by = _write(app, store, project, run, candidate, bar, verdict)
    if passed_by and run is not None:
        await rebase(app, fleet, run, get(app.store, Candidate, candidate.id))


def _bar(store: Store, candidate: Candidate) -> Candidate:
    former = find(store, Candidate, "WHERE id = ?", candidate.bar_id or candidate.parent_id)
    return bar_of(store, former) if former is not None else candidate


def _scored(app: AppContext, candidate: Candidate, bar: Candidate) -> bool:
    """Whether both scores are there; the bar's is asked for when it was never measured by this evaluator."""
    project = app.project(candidate.project_id)
    if score_of(app.store, project, bar.id) is None:
        with app.transaction() as store:
            want_score(store, project, bar.id)
        return False
    return score_of(app.store, project, candidate.id) is not None


def _write(
    app: AppContext,
    store: Store,
    project: Project,
    run: Run | None,
    candidate: Candidate,
    bar: Candidate,
    verdict: Verdict,
) -> bool:
    """Write the new verdict and move the head; True when it is a keep that the head has passed by."""
    update(store, Candidate, candidate.id, {"judge_again": 0, "actor": ACTOR})
    keep = verdict.verdict == "keep"
    if keep and candidate.verdict == "keep":
        write_verdict(app, store, candidate, verdict, bar, on_trunk=candidate.on_trunk)
        return False
    trunk = run is not None and not run.is_branch
    if keep and trunk and project.head_id != bar.id:
        reason = f"{verdict.reason}; meanwhile the head moved to candidate#{project.head_id}"
        moved = Verdict(verdict="interesting", rule=verdict.rule, reason=reason, cause="moved")
        write_verdict(app, store, candidate, moved, bar, on_trunk=False)
        return True
    write_verdict(app, store, candidate, verdict, bar, on_trunk=trunk)
    if keep and trunk:
        update(store, Project, project.id, {"head_id": candidate.id, "actor": ACTOR})
    elif not keep and candidate.id == project.head_id:
        update(store, Project, project.id, {"head_id": _head_before(store, candidate), "actor": ACTOR})
    return False


def _head_before(store: Store, head: Candidate) -> int:
    """The latest keep on the trunk beside this one; the baseline is always one."""
    before = "WHERE project_id = ? AND verdict = 'keep' AND on_trunk = 1 AND id <> ? ORDER BY id DESC"
    found = find(store, Candidate, before, head.project_id, head.id)
    return found.id if found is not None else head.id
