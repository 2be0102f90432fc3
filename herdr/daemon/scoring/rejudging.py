"""Judges a candidate again once it has been scored again, as a person asked; the head follows."""

from __future__ import annotations

from functools import partial

from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.scoring.judging import by, keep_rule, tell
from herdr.daemon.scoring.rebase import rebase
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Project, Run, fetch, get, get_or_none
from herdr.trunk import moves
from herdr.trunk.reading import bar_of
from herdr.trunk.scores import score_of, want_score

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
        judge = keep_rule(store, fleet, get(store, Project, candidate.project_id))
        judged = moves.judge_again(store, candidate, bar, judge, by(app))
        if judged is None:
            return
        tell(store, judged)
    run = get_or_none(app.store, Run, candidate.run_id)
    if judged.verdict.cause == "moved" and run is not None:
        await rebase(app, fleet, run, judged.candidate)


def _bar(store: Store, candidate: Candidate) -> Candidate:
    former = get_or_none(store, Candidate, candidate.bar_id or candidate.parent_id)
    return bar_of(store, former) if former is not None else candidate


def _scored(app: AppContext, candidate: Candidate, bar: Candidate) -> bool:
    """Whether both scores are there; the bar's is asked for when it was never measured by this evaluator."""
    project = app.project(candidate.project_id)
    if score_of(app.store, project, bar.id) is None:
        with app.transaction() as store:
            want_score(store, project, bar.id, ACTOR)
        return False
    return score_of(app.store, project, candidate.id) is not None
