"""Opens a fleet for each registered project, and takes up an edited piloop.toml."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from herdr.config import FILE_NAME, Config, ConfigError, read_config
from herdr.daemon.app_context import ACTOR, AppContext, Fleet, log
from herdr.errors import HerdrError, RefusedError
from herdr.harness.naming import lost_names, unknown_names
from herdr.harness.registry import Harnesses
from herdr.moving import changed_place, has_live_agent, refuse_move
from herdr.mux.server import TmuxServer
from herdr.repo.own import own_of
from herdr.runtime.api import Runtime
from herdr.runtime.background import BackgroundRuntime
from herdr.runtime.pane import PaneRuntime
from herdr.scoring.evaluator import Definition, define, register
from herdr.store.rows import Evaluator, Project, fetch, get, get_or_none
from herdr.trunk.scores import want_score

NAME_LATER = 'name = "{}", but the project is registered as {}'
RENAME = "put the name back, or have `herdr init` rename it while no run of it is open"

#: Ideas that run or are to run yet, with the harness that each needs.
PINNED = """
    SELECT id, harness FROM ideas
    WHERE project_id = :project AND harness NOT NULL AND status IN ('seed', 'proposed', 'ready', 'scheduled')
    UNION SELECT idea_id, harness FROM runs WHERE project_id = :project AND settled_at IS NULL ORDER BY 1
"""


class Edit(NamedTuple):
    """An edited configuration that may be in force, and its evaluator if it could be another one."""

    config: Config
    definition: Definition | None


def file_version(root: Path) -> tuple[int, int]:
    """When a project's piloop.toml was written, and its size: an edit changes one of them."""
    try:
        found = (root / FILE_NAME).stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


async def take_in(app: AppContext) -> None:
    """Open a fleet for every project that has none yet, and move those that can move now.

    One that fails is told, and tried at the next change.
    """
    async with app.taking_in:
        for project in fetch(app.store, Project, "ORDER BY id"):
            fleet = app.fleets.get(project.id)
            if fleet is None:
                await app.guard(f"taking in project {project.name}", partial(_open, app, project), project.id)
            elif project.name != fleet.name or (
                project.config_error and not has_live_agent(app.store, project.id)
            ):
                await app.guard(f"taking up {project.name}", partial(_take_up, app, fleet), project.id)


async def _open(app: AppContext, project: Project) -> None:
    """Open a fleet with the configuration in force, which is the edited one unless that has to wait."""
    stored = Config.from_json(project.config)
    edit = await _read(app, project, stored)
    config = edit.config if edit is not None else stored
    own = await anyio.to_thread.run_sync(own_of, app.home, Path(project.path), project.name)
    runtime = await _runtime(app, project, config)
    fleet = Fleet(project, config, _harnesses(app, config), runtime, own)
    try:
        if edit is not None:
            _store(app, project, stored, edit)
        await _choose_rotation(fleet)
    except BaseException:
        await runtime.aclose()
        raise
    app.fleets[project.id] = fleet
    app.changes.notify()


async def _runtime(app: AppContext, project: Project, config: Config) -> Runtime:
    """Where the project's agents run, by its configuration."""
    if config.runtime == "subprocess":
        return BackgroundRuntime()
    server = TmuxServer(
        config.tmux.socket or app.home.socket_name,
        app.home.tmux_conf,
        os.environ,
        history=config.tmux.history,
    )
    runtime = await PaneRuntime.open(
        server,
        project.name,
        Path(project.path),
        width=config.tmux.width,
        height=config.tmux.height,
    )
    runtime.on_event(lambda _: app.changes.notify())
    return runtime


async def reload(app: AppContext, fleet: Fleet) -> None:
    """Read piloop.toml again; a broken one leaves the last good in force, its mistakes in the project's row."""
    # Under the lock, because `take_in` may be changing the same fleet.
    async with app.taking_in:
        await _take_up(app, fleet)


async def _take_up(app: AppContext, fleet: Fleet) -> None:
    project = _unless_agents_live(app, fleet)
    edit = await _read(app, project, fleet.config)
    if edit is None:
        return
    runtime = None
    if project.name != fleet.name or changed_place(fleet.config, edit.config) is not None:
        try:
            runtime = await _runtime(app, project, edit.config)
        except HerdrError as error:
            _refuse(app, project, fleet.config, error)
            return
    # No await from the last look at the agents to the change: an agent's row is there before it is launched.
    try:
        _store(app, project, fleet.config, edit)
    except BaseException as error:
        if runtime is not None:
            await runtime.aclose()
        if not isinstance(error, RefusedError):
            raise
        _refuse(app, project, fleet.config, error)
        return
    if project.name != fleet.name:
        fleet.own = own_of(app.home, fleet.root, project.name)
    old, fleet.name, fleet.config = fleet.runtime, project.name, edit.config
    fleet.harnesses = _harnesses(app, edit.config)
    if runtime is not None:
        fleet.runtime = runtime
        await old.aclose()
    await _choose_rotation(fleet)


def _unless_agents_live(app: AppContext, fleet: Fleet) -> Project:
    """The project's row; a new name is taken back when an agent was launched before it was noticed."""
    with app.transaction() as store:
        project = get(store, Project, fleet.project_id)
        if project.name != fleet.name and has_live_agent(store, project.id):
            Project.update(store, project.id, name=fleet.name, actor=ACTOR)
        return get(store, Project, fleet.project_id)


async def _read(app: AppContext, project: Project, old: Config) -> Edit | None:
    """The edited configuration; None where it may not be in force now, with the reason in the project's row."""
    # Noted before it is read: an edit that is made meanwhile is seen as one.
    app.files_read[project.id] = file_version(Path(project.path))
    try:
        config = await anyio.to_thread.run_sync(read_config, Path(project.path), os.environ)
        if config.name != project.name:
            raise RefusedError(NAME_LATER.format(config.name, project.name), fix=RENAME)
        _refuse_names(app, project, old, config)
        refuse_move(app.store, project, old, config)
        definition = None
        evaluator = get_or_none(app.store, Evaluator, project.evaluator_id)
        if evaluator is not None and config.to_json() != old.to_json():
            own = await anyio.to_thread.run_sync(own_of, app.home, Path(project.path), project.name)
            definition = await anyio.to_thread.run_sync(define, config, own, evaluator.commit_sha)
        return Edit(config, definition)
    except HerdrError as error:
        _refuse(app, project, old, error)
        return None


def _refuse_names(app: AppContext, project: Project, old: Config, new: Config) -> None:
    """Make sure that there is every harness that the edited configuration, or an open idea, names.

    Raises:
        ConfigError: with each that there is not.
    """
    known = _harnesses(app, new)
    pinned = app.store.execute(PINNED, {"project": project.id}).fetchall()
    mistakes = [*unknown_names(new, known), *lost_names(pinned, _harnesses(app, old), known)]
    if mistakes:
        raise ConfigError(Path(project.path) / FILE_NAME, mistakes)


def _store(app: AppContext, project: Project, old: Config, edit: Edit) -> None:
    """Store the configuration, and the evaluator that it makes of the evaluator's commit.

    Raises:
        RefusedError: an agent was launched meanwhile, in the old place.
    """
    stored = edit.config.to_json().decode()
    if stored == project.config and project.config_error is None:
        return
    evaluator = get_or_none(app.store, Evaluator, project.evaluator_id)
    with app.transaction() as store:
        refuse_move(store, project, old, edit.config)
        Project.update(store, project.id, config=stored, config_error=None, actor=ACTOR)
        if edit.definition is None or evaluator is None:
            return
        register(store, project.id, edit.definition, evaluator.commit_sha, ACTOR)
        now = get(store, Project, project.id)
        if now.head_id is not None and now.evaluator_id != evaluator.id:
            # What is open asks for its own scores; the head is the bar of whatever comes next.
            want_score(store, now, now.head_id, ACTOR)


def _harnesses(app: AppContext, config: Config) -> Harnesses:
    return app.harnesses.configured(config.harness)


async def _choose_rotation(fleet: Fleet) -> None:
    named = fleet.config.role("worker").harnesses
    if named is None:
        named = tuple(await anyio.to_thread.run_sync(fleet.harnesses.available, os.environ))
    fleet.rotation = tuple(fleet.harnesses.known(named))


def _refuse(app: AppContext, project: Project, old: Config, error: HerdrError) -> None:
    """Say in the project's row why an edit is not in force; what is stored there stays what is."""
    problem = f"{error.message}: {error.fix}" if error.fix else error.message
    stored = old.to_json().decode()
    if (project.config_error, project.config) != (problem, stored):
        log.warning("project %s: %s", project.name, problem)
        with app.transaction() as store:
            Project.update(store, project.id, config=stored, config_error=problem, actor=ACTOR)
