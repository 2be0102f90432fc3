"""After a run has ended: its commits become candidates, are measured and judged, and the head moves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import anyio.to_thread
import msgspec

from herdr.campaign.text import first_line
from herdr.campaign.verdict import Metric, Scored, Verdict, judge
from herdr.daemon.anomalies import report
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.errors import HerdrError
from herdr.repo.commits import Commit
from herdr.repo.furnish import AGENT_FOLDER
from herdr.repo.overlay import touched
from herdr.repo.run_folder import RECOVERED, RunFolder
from herdr.scoring.evaluator import read_definition
from herdr.store.columns import NewCandidate
from herdr.store.connection import Store
from herdr.store.queries import candidate_of_tree
from herdr.store.rows import Candidate, Evaluator, Project, Run, find, get, get_or_none
from herdr.trunk import moves
from herdr.trunk.reading import bar_of, candidates_of
from herdr.trunk.scores import score_of, scoring_of, want_score

QUIET = 10.0
#: How much of a note goes into the title of its seed, in characters.
NOTE_LENGTH = 120


class NewCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A new commit of a run, and the protected files that it changed."""

    commit: Commit
    touched: Sequence[str]


# --- commits become candidates ------------------------------------------------------------------------------


async def enter_commits(app: AppContext, run: Run, folder: RunFolder) -> None:
    """Make every new commit of a run a candidate, to be measured; doing it again changes nothing.

    Args:
        app: the daemon.
        run: a run that has ended.
        folder: its folder, whose commits were taken over and pinned.
    """
    project = app.project(run.project_id)
    base = get(app.store, Candidate, run.base_id)
    evaluator = evaluator_of(app, project)
    found = await anyio.to_thread.run_sync(partial(find_commits, folder, base.commit_sha, evaluator))
    with app.transaction() as store:
        for position, one in enumerate(found, 1):
            _enter(store, project, run, position, one)


def find_commits(folder: RunFolder, base: str, evaluator: Evaluator) -> list[NewCommit]:
    """The commits of a run that were taken over, in order of time, with the protected files that each changed.

    Args:
        folder: the run's folder.
        base: the commit that the run started from.
        evaluator: the project's present evaluator.
    """
    # No later run could be launched from a commit that has something of its own in herdr's place.
    patterns = (*read_definition(evaluator).protected, AGENT_FOLDER)
    found = []
    for commit in folder.commits():
        # A file is touched if it is neither as the run found it nor as the evaluator has it.
        changed = set(touched(folder.own, base, commit.sha, patterns))
        changed &= set(touched(folder.own, evaluator.commit_sha, commit.sha, patterns))
        found.append(NewCommit(commit=commit, touched=sorted(changed)))
    return found


def _enter(store: Store, project: Project, run: Run, position: int, found: NewCommit) -> None:
    commit = found.commit
    known = candidate_of_tree(store, project.id, commit.tree)
    if known is None:
        candidate_id = Candidate.insert(store, **_new_candidate(store, project, run, found), actor=ACTOR)
    else:
        candidate_id = known.id
        if known.origin == "skipped" and not commit.skip:
            Candidate.update(store, known.id, origin="run", actor=ACTOR)
    if not commit.skip:
        want_score(store, project, candidate_id, ACTOR)
    store.execute(
        "INSERT INTO run_commits (run_id, position, commit_sha, candidate_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        (run.id, position, commit.sha, candidate_id),
    )


def _new_candidate(store: Store, project: Project, run: Run, found: NewCommit) -> NewCandidate:
    commit = found.commit
    marks = ", ".join("?" for _ in commit.parents)
    among = f"WHERE project_id = ? AND commit_sha IN ({marks}) ORDER BY id DESC"
    parent = find(store, Candidate, among, project.id, *commit.parents)
    recovered = bool(commit.trailer(RECOVERED))
    return {
        "project_id": project.id,
        "run_id": run.id,
        "parent_id": parent.id if parent else run.base_id,
        "tree_sha": commit.tree,
        "commit_sha": commit.sha,
        "subject": commit.subject[:500] or "(no message)",
        "origin": "skipped" if commit.skip else "recovered" if recovered else "run",
        "note": commit.note,
        "touched": msgspec.json.encode(found.touched).decode() if found.touched else None,
    }


# --- and are judged ------------------------------------------------------------------------------------------


async def judge_run(app: AppContext, fleet: Fleet, run: Run) -> None:
    """Judge the candidates of a run in their order, once they are measured, and move the head."""
    bar = bar_of(app.store, get(app.store, Candidate, run.base_id))
    await measured(app, fleet, [*(c.id for c in candidates_of(app.store, run) if not c.held), bar.id])
    with app.transaction() as store:
        judge = keep_rule(store, fleet, get(store, Project, run.project_id))
        for judged in moves.judge_run(store, run, bar, judge, by(app)):
            tell(store, judged)


async def measured(app: AppContext, fleet: Fleet, candidate_ids: Iterable[int]) -> None:
    """Wait until each has a score under the present evaluator, which may change meanwhile."""
    wanted = sorted(set(candidate_ids))
    while True:
        project = app.project(fleet.project_id)
        missing = [one for one in wanted if score_of(app.store, project, one) is None]
        if not missing:
            return
        unasked = [one for one in missing if scoring_of(app.store, project, one) is None]
        if unasked:
            with app.transaction() as store:
                for candidate_id in unasked:
                    want_score(store, project, candidate_id, ACTOR)
        await app.changes.wait(QUIET)


def by(app: AppContext) -> moves.By:
    """The daemon judges, now."""
    return moves.By(actor=ACTOR, at=app.timestamp())


def keep_rule(store: Store, fleet: Fleet, project: Project) -> moves.Judge:
    """The keep rule with the project's metrics and the scores under its present evaluator."""
    return partial(verdict_on, store, fleet, project)


def verdict_on(store: Store, fleet: Fleet, project: Project, candidate: Candidate, bar: Candidate) -> Verdict:
    """Judge one measured candidate against a bar by the keep rule.

    Args:
        store: the store.
        fleet: the project, for its metrics.
        project: its row, for its evaluator.
        candidate: the candidate to judge, which has a score.
        bar: the keep that it must beat, which may have none.
    """
    own = score_of(store, project, candidate.id)
    other = score_of(store, project, bar.id)
    assert own is not None, "a candidate is judged once it is measured"
    return judge(
        [
            Metric(name=m.name, direction=m.direction, role=m.role, margin=m.margin or 0.0, floor=m.floor)
            for m in fleet.config.metrics
        ],
        Scored(metrics=own.values, error=own.error),
        other.values if other is not None and other.error is None else None,
        protected=candidate.touched_paths,
        note=candidate.note,
    )


def tell(store: Store, judged: moves.Judged) -> None:
    """Write down what else follows from a verdict: an anomaly, or a seed."""
    candidate, verdict = judged.candidate, judged.verdict
    if verdict.rule == "no_change":
        detail = f"candidate#{candidate.id} scores exactly what candidate#{judged.bar.id} does: {verdict.reason}"
        report(store, candidate.project_id, "no_change", ("candidate", candidate.id), detail, incident=False)
    if verdict.cause == "note":
        _seed_note(store, candidate)


def _seed_note(store: Store, candidate: Candidate) -> None:
    """A regression that is worth starting from (`Piloop-Note`) becomes a seed that is pinned to it."""
    store.execute(
        "INSERT INTO ideas (project_id, title, hypothesis, status, base_id, source, provenance, actor)"
        " VALUES (?, ?, ?, 'seed', ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            candidate.project_id,
            f"Go on from candidate#{candidate.id}: {first_line(candidate.note or '', NOTE_LENGTH)}",
            f"candidate#{candidate.id} scores worse than what it started from, but: {candidate.note}",
            candidate.id,
            ACTOR,
            f"candidate#{candidate.id}" + (f", run#{candidate.run_id}" if candidate.run_id is not None else ""),
            ACTOR,
        ),
    )


def evaluator_of(app: AppContext, project: Project) -> Evaluator:
    """The project's present evaluator.

    Raises:
        HerdrError: the project has none, so nothing can be scored.
    """
    evaluator = get_or_none(app.store, Evaluator, project.evaluator_id)
    if evaluator is None:
        raise HerdrError(f"project {project.name} has no evaluator", fix="run `herdr init` in its repo")
    return evaluator
