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
from herdr.moving import refuse_move, refuse_rename
from herdr.repo.checks import check_git, find_root, head_commit, is_dirty, refuse
from herdr.repo.commits import read_commit
from herdr.repo.linked_advice import advice
from herdr.repo.names import slug
from herdr.repo.own import OwnRepository, own_of
from herdr.repo.prints import carry_over
from herdr.repo.refs import pinned
from herdr.repo.takeover import pin
from herdr.runtime.processes import mark
from herdr.scoring.evaluator import Definition, define, register
from herdr.scoring.measure import Job, ScoringResult, evaluator_environment, measure
from herdr.scoring.set_up import command_for, what_it_reads
from herdr.store.columns import MeasurementChanges, ProjectChanges
from herdr.store.connection import Store, open_store, transaction
from herdr.store.queries import project_at, score_under
from herdr.store.rows import Candidate, Evaluator, Measurement, Project, find, get, get_or_none
from herdr.templates import is_stub, write_templates
from herdr.trunk import moves

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
    refuse(root)
    commit = head_commit(root)
    written = write_templates(root, slug(root.name))
    for path in written:
        tell(f"wrote {path.relative_to(root)}")
    _refuse_stub(root, written)
    config = read_config(root, environ)
    home.ensure()
    definition = define(config, own_of(home, root, config.name), commit)
    _warn_of_edits(root, definition, tell)
    _tell_of_links(home, root, config, tell)
    store = open_store(home.database, mode="person", actor=actor)
    try:
        metrics = _Registration(home, store, root, config, definition, commit).take_up(environ, tell)
        project = project_at(store, str(root))
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
        differ = "differs" if len(dirty) == 1 else "differ"
        tell(f"note: {', '.join(dirty[:5])} {differ} from the last commit; scoring uses what is committed")


def _tell_of_links(home: Home, root: Path, config: Config, tell: Tell) -> None:
    for one in advice(root, (root, home.root), link=config.linked, shared=config.shared):
        if one.fix or one.big:
            tell(f"note: {one.message}" + (f"; {one.fix}" if one.fix else ""))


class _Registration:
    """Writes a project into the store, once its baseline or its head has a score under the evaluator."""

    def __init__(
        self, home: Home, store: Store, root: Path, config: Config, definition: Definition, commit: str
    ) -> None:
        self.home, self.store, self.root = home, store, root
        self.config, self.definition, self.commit = config, definition, commit
        self.own = own_of(home, root, config.name)
        self.known = self._known()

    def _known(self) -> Project | None:
        by_name = find(self.store, Project, "WHERE name = ?", self.config.name)
        if by_name is not None and not Path(by_name.path).exists():
            return by_name  # the repo has moved here
        if by_name is not None and by_name.path != str(self.root):
            raise UsageError(
                f"a project called {self.config.name!r} is registered already, at {by_name.path}",
                fix=f"give this one another `name` in {self.root / FILE_NAME}",
            )
        return project_at(self.store, str(self.root))

    def take_up(self, environ: Mapping[str, str], tell: Tell) -> dict[str, float] | None:
        """Register the project, or take up its edits; gives the metrics if something had to be measured."""
        self._refuse_losses()
        head = self._head()
        if self.known is not None and head is not None and self._same_evaluator(self.known):
            with transaction(self.store):
                self._write_project()
                register(self.store, self.known.id, self.definition, self.commit, self.store.actor)
            return None
        measured = head.commit_sha if head is not None else self.commit
        what = "the head" if head is not None else "the baseline"
        tell(f"measuring {what}, {measured[:10]}: {' '.join(self.config.evaluate)}")
        score = measure_now(self.home, self.own, self.config, self.definition, measured, self.commit, environ)
        if score.setup_seconds is not None:
            tell(f"[setup] took {score.setup_seconds:.1f} s; it runs in each worktree, and for each scoring")
        self._write(head, measured, score)
        return score.metrics

    def _refuse_losses(self) -> None:
        if self.known is not None:
            refuse_rename(self.store, self.known, self.config.name)
            refuse_move(self.store, self.known, Config.from_json(self.known.config), self.config)

    def _head(self) -> Candidate | None:
        known = self.known
        return get(self.store, Candidate, known.head_id) if known is not None and known.head_id else None

    def _same_evaluator(self, known: Project) -> bool:
        evaluator = get_or_none(self.store, Evaluator, known.evaluator_id)
        return evaluator is not None and evaluator.key == self.definition.key

    def _write(self, head: Candidate | None, measured: str, score: ScoringResult) -> None:
        actor = self.store.actor
        with transaction(self.store):
            project_id = self._write_project()
            evaluator_id = register(self.store, project_id, self.definition, self.commit, actor)
            candidate_id = head.id if head is not None else self._enter_baseline(project_id)
            self._enter_score(candidate_id, evaluator_id, score)
            # Pinned before the row is there to stay: a candidate without its commit would be worth nothing.
            pin(self.own, {f"{self.own.pins}candidate/{candidate_id}": measured})

    def _write_project(self) -> int:
        values: ProjectChanges = {
            "name": self.config.name,
            "path": str(self.root),
            "config": self.config.to_json().decode(),
            "config_error": None,
        }
        if self.known is None:
            return Project.insert(self.store, **values, actor=self.store.actor)
        # Measuring takes its time, so a run may have started since the first look.
        self._refuse_losses()
        if self.known.name != self.config.name:
            self._carry_over(self.known.name, self.config.name)
        Project.update(self.store, self.known.id, **values, actor=self.store.actor)
        return self.known.id

    def _carry_over(self, old: str, new: str) -> None:
        """Give what goes by the project's name the new one; pins stay under the old one too."""
        pins = pinned(own_of(self.home, self.root, old))
        pin(self.own, {f"{self.own.pins}{name}": commit for name, commit in pins.items()})
        carry_over(own_of(self.home, self.root, old), self.own)
        for folder in ("workspaces", "profiles"):
            before, after = self.home.root / folder / old, self.home.root / folder / new
            if before.is_dir() and not after.exists():
                before.rename(after)

    def _enter_baseline(self, project_id: int) -> int:
        made = read_commit(self.own, self.commit)
        baseline = moves.Baseline(commit=self.commit, tree=made.tree, subject=made.subject)
        return moves.start(self.store, project_id, baseline, self.store.actor)

    def _enter_score(self, candidate_id: int, evaluator_id: int, score: ScoringResult) -> None:
        actor = self.store.actor
        values: MeasurementChanges = {
            "state": "done",
            "metrics": msgspec.json.encode(score.metrics).decode(),
            "error": None,
            "seconds": round(score.seconds, 3),
        }
        known = score_under(self.store, candidate_id, evaluator_id)
        if known is None:
            Measurement.insert(
                self.store, candidate_id=candidate_id, evaluator_id=evaluator_id, **values, actor=actor
            )
        else:
            Measurement.update(self.store, known.id, **values, actor=actor)


def measure_now(
    home: Home,
    own: OwnRepository,
    config: Config,
    definition: Definition,
    commit: str,
    evaluator_commit: str,
    environ: Mapping[str, str],
) -> ScoringResult:
    """Score a commit in this very process.

    Args:
        home: the daemon's home, which keeps the output.
        own: the project's repository of herdr's own.
        config: the project's configuration.
        definition: the evaluator.
        commit: the full id of the commit to score.
        evaluator_commit: the full id of the commit that the protected files are taken from.
        environ: herdr's own environment, of which the evaluator gets a part.

    Raises:
        HerdrError: the commit gives no score; says why, and where its output is.
    """
    # With the pid, so that what a killed one left can be told from what goes on.
    name = f"init-{os.getpid()}-{secrets.token_hex(4)}"
    folder = home.root / "evaluations" / name
    env = evaluator_environment(os.environ | dict(environ), config.evaluate_env)
    job = Job(
        own=own,
        commit=commit,
        evaluator_commit=evaluator_commit,
        protected=definition.protected,
        contents=definition.contents,
        argv=definition.argv,
        metrics=[metric for metric, _ in definition.metrics],
        link=definition.link,
        shared=definition.shared,
        setup=command_for(config.setup, definition.setup, env, mark(home, name)),
        setup_reads=what_it_reads(config.setup, own.root, definition.setup),
        timeout=config.evaluate_timeout,
        env=env,
        folder=folder,
        mark=mark(home, name),
    )
    try:
        score = anyio.run(measure, job)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if score.error is not None:
        raise HerdrError(
            f"the evaluate command gives no score for {commit[:10]}: {score.error}",
            fix=f"its output is in {folder}; mend it, commit, and run `herdr init` again",
        )
    return score
