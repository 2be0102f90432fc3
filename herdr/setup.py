"""What `herdr init` does: find the repo, write what is missing, measure the baseline, register the project."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import msgspec

from herdr.config import FILE_NAME, Config, read_config
from herdr.errors import HerdrError, UsageError
from herdr.home import Home
from herdr.repo.checks import check_git, find_root, head_commit, is_dirty
from herdr.repo.commits import read_commit
from herdr.repo.names import slug
from herdr.repo.refs import pin
from herdr.runtime.processes import mark
from herdr.scoring.evaluator import Definition, define, register
from herdr.scoring.measure import Job, Score, evaluator_environment, measure
from herdr.store.connection import Store, open_store, transaction
from herdr.store.rows import Candidate, Evaluator, Measurement, Project, find, get, insert, update
from herdr.templates import is_stub, write_templates

Tell = Callable[[str], None]


class SetUp(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. `metrics` are the baseline's when it was measured now, and None when it stood already."""

    project: Project
    written: list[Path]
    metrics: dict[str, float] | None = None


class NotReadyError(HerdrError):
    """Files were written, and a person has to fill them in before the project can be registered."""


def set_up(home: Home, start: Path, environ: Mapping[str, str], *, actor: str, tell: Tell) -> SetUp:
    """Register the repo around `start`, or take up its edits when it is registered.

    Nothing of the user's is committed, and nothing is written to the store before the baseline has been measured.

    Args:
        home: where projects are registered.
        start: a folder in the repo.
        environ: for overrides of the configuration and for the evaluate command.
        actor: who asks.
        tell: called with each line of progress.

    Raises:
        HerdrError: what is missing or wrong, and what to do about it.
    """
    check_git()
    root = find_root(start)
    commit = head_commit(root)
    written = write_templates(root, slug(root.name))
    for path in written:
        tell(f"wrote {path.relative_to(root)}")
    _refuse_stub(root, written)
    config = read_config(root, environ)
    definition = define(config, root, commit)
    _warn_of_edits(root, definition, tell)
    home.ensure()
    store = open_store(home.database, mode="person", actor=actor)
    try:
        known = _known(store, root, config)
        metrics = _take_up(home, store, known, root, config, definition, commit, environ, actor, tell)
        project = find(store, Project, "WHERE path = ?", str(root))
        assert project is not None
        return SetUp(project=project, written=written, metrics=metrics)
    finally:
        store.close()


def _refuse_stub(root: Path, written: list[Path]) -> None:
    stub = root / "evaluate.py"
    if stub.is_file() and is_stub(stub.read_text(errors="replace")) and _evaluates_by(root, stub):
        names = " ".join(path.name for path in written) or "evaluate.py"
        raise NotReadyError(
            "the project is not registered yet: evaluate.py does not measure anything",
            fix=f"make evaluate.py print your metric, look through {FILE_NAME} and brief.md,"
            f" `git add {names} && git commit`, then run `herdr init` again",
        )


def _evaluates_by(root: Path, stub: Path) -> bool:
    return stub.name in read_config(root, {}).evaluate


def _warn_of_edits(root: Path, definition: Definition, tell: Tell) -> None:
    dirty = [path for path in definition.files if is_dirty(root, [path])]
    if dirty:
        tell(f"note: {', '.join(dirty[:5])} differ from the last commit; scoring uses what is committed")


def _known(store: Store, root: Path, config: Config) -> Project | None:
    by_name = find(store, Project, "WHERE name = ?", config.name)
    if by_name is not None and by_name.path != str(root):
        raise UsageError(
            f"a project called {config.name!r} is registered already, at {by_name.path}",
            fix=f"give this one another `name` in {root / FILE_NAME}",
        )
    return find(store, Project, "WHERE path = ?", str(root))


def _take_up(
    home: Home,
    store: Store,
    known: Project | None,
    root: Path,
    config: Config,
    definition: Definition,
    commit: str,
    environ: Mapping[str, str],
    actor: str,
    tell: Tell,
) -> dict[str, float] | None:
    head = get(store, Candidate, known.head_id) if known is not None and known.head_id is not None else None
    evaluator = find(store, Evaluator, "WHERE id = ?", known.evaluator_id) if known is not None else None
    if known is not None and head is not None and evaluator is not None and evaluator.key == definition.key:
        with transaction(store):
            _write_project(store, known, root, config, actor)
            register(store, known.id, definition, commit, actor)
        return None
    measured = head.commit_sha if head is not None else commit
    tell(f"measuring {'the head' if head else 'the baseline'}, {measured[:10]}: {' '.join(config.evaluate)}")
    score = measure_now(home, root, config, definition, measured, commit, environ)
    with transaction(store):
        project_id = _write_project(store, known, root, config, actor)
        evaluator_id = register(store, project_id, definition, commit, actor)
        candidate_id = head.id if head is not None else _enter_baseline(store, project_id, root, commit, actor)
        _enter_score(store, candidate_id, evaluator_id, score, actor)
        # Pinned before the row is there to stay: a candidate without its commit would be worth nothing.
        pin(root, config.name, f"candidate/{candidate_id}", measured)
        update(store, Project, project_id, {"head_id": candidate_id, "actor": actor})
    return score.metrics


def measure_now(
    home: Home,
    root: Path,
    config: Config,
    definition: Definition,
    commit: str,
    evaluator_commit: str,
    environ: Mapping[str, str],
) -> Score:
    """Score a commit in this very process.

    Raises:
        HerdrError: the commit gives no score; says why, and where its output is.
    """
    name = f"init-{secrets.token_hex(4)}"
    folder = home.root / "evaluations" / name
    job = Job(
        root=root,
        commit=commit,
        evaluator_commit=evaluator_commit,
        protected=definition.protected,
        argv=definition.argv,
        metrics=[metric for metric, _ in definition.metrics],
        link=definition.link,
        workspace=home.workspace(config.name),
        timeout=config.evaluate_timeout,
        env=evaluator_environment(os.environ | dict(environ), config.evaluate_env),
        folder=folder,
        mark=mark(home, name),
    )
    score = anyio.run(measure, job)
    if score.error is not None:
        raise HerdrError(
            f"the evaluate command gives no score for {commit[:10]}: {score.error}",
            fix=f"its output is in {folder}; mend it, commit, and run `herdr init` again",
        )
    shutil.rmtree(folder, ignore_errors=True)
    return score


def _write_project(store: Store, known: Project | None, root: Path, config: Config, actor: str) -> int:
    values = {"config": config.to_json().decode(), "config_error": None, "name": config.name, "actor": actor}
    if known is None:
        return insert(store, Project, {**values, "path": str(root)})
    update(store, Project, known.id, values)
    return known.id


def _enter_baseline(store: Store, project_id: int, root: Path, commit: str, actor: str) -> int:
    made = read_commit(root, commit)
    known = find(store, Candidate, "WHERE project_id = ? AND tree_sha = ?", project_id, made.tree)
    if known is not None:
        return known.id
    values = {"project_id": project_id, "tree_sha": made.tree, "commit_sha": commit, "subject": made.subject}
    verdict = {"verdict": "keep", "rule": "baseline", "reason": "where the campaign starts", "on_trunk": 1}
    return insert(
        store, Candidate, {**values, **verdict, "origin": "baseline", "judged_by": actor, "actor": actor}
    )


def _enter_score(store: Store, candidate_id: int, evaluator_id: int, score: Score, actor: str) -> None:
    values = {"candidate_id": candidate_id, "evaluator_id": evaluator_id, "state": "done", "actor": actor}
    metrics = msgspec.json.encode(score.metrics).decode()
    known = find(
        store,
        Measurement,
        "WHERE candidate_id = ? AND evaluator_id = ? AND purpose = 'score'",
        candidate_id,
        evaluator_id,
    )
    if known is None:
        insert(store, Measurement, {**values, "metrics": metrics, "seconds": round(score.seconds, 3)})
    else:
        update(store, Measurement, known.id, {"state": "done", "metrics": metrics, "error": None, "actor": actor})
