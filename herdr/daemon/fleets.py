"""Opens a fleet for each registered project, and takes up an edited piloop.toml."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import anyio.to_thread

from herdr.config import Config, ConfigError, read_config
from herdr.daemon.judging import want_score
from herdr.daemon.world import ACTOR, Fleet, World, log
from herdr.harness.registry import Harnesses
from herdr.mux.server import TmuxServer
from herdr.runtime.pane import PaneRuntime
from herdr.scoring.evaluator import define, register
from herdr.store.rows import Evaluator, Project, fetch, find, get, update

NO_SUBPROCESS = 'runtime = "subprocess" cannot run agents yet: set runtime = "herdr" in piloop.toml'


async def take_in(world: World) -> None:
    """Open a fleet for every project that has none yet; one that fails is told, and tried at the next change."""
    async with world.taking_in:
        for project in fetch(world.store, Project, "ORDER BY id"):
            if project.id not in world.fleets:
                await world.guard(f"taking in project {project.name}", partial(_open, world, project), project.id)


async def _open(world: World, project: Project) -> None:
    config = Config.from_json(project.config)
    if config.runtime != "herdr":
        _set_error(world, project, NO_SUBPROCESS)
        return
    server = TmuxServer(
        config.tmux.socket or world.home.socket_name,
        world.home.tmux_conf,
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
    fleet = Fleet(project, config, _harnesses(world, config), runtime)
    runtime.on_change(lambda _: world.bell.ring())
    await _choose_rotation(fleet)
    world.fleets[project.id] = fleet
    await reload(world, fleet)
    world.bell.ring()


async def reload(world: World, fleet: Fleet) -> None:
    """Read piloop.toml again; a broken one leaves the last good in force, its mistakes in the project's row."""
    project = get(world.store, Project, fleet.project_id)
    try:
        config = await anyio.to_thread.run_sync(read_config, fleet.root, os.environ)
    except ConfigError as error:
        _set_error(world, project, str(error))
        return
    if config.runtime != "herdr":
        _set_error(world, project, NO_SUBPROCESS)
        return
    fleet.config = config
    fleet.harnesses = _harnesses(world, config)
    await _choose_rotation(fleet)
    await _take_up(world, project, fleet)


async def _take_up(world: World, project: Project, fleet: Fleet) -> None:
    """Store the configuration, and the evaluator that it makes of the evaluator's commit."""
    old = find(world.store, Evaluator, "WHERE id = ?", project.evaluator_id)
    stored = fleet.config.to_json().decode()
    if stored == project.config and project.config_error is None:
        return
    definition = None
    if old is not None:
        definition = await anyio.to_thread.run_sync(define, fleet.config, fleet.root, old.commit_sha)
    with world.transaction() as store:
        update(store, Project, project.id, {"config": stored, "config_error": None, "actor": ACTOR})
        if definition is None or old is None:
            return
        register(store, project.id, definition, old.commit_sha, ACTOR)
        now = get(store, Project, project.id)
        if now.head_id is not None and now.evaluator_id != old.id:
            # What is open asks for its own scores; the head is the bar of whatever comes next.
            want_score(store, now, now.head_id)


def _harnesses(world: World, config: Config) -> Harnesses:
    return world.harnesses.configured(config.harness)


async def _choose_rotation(fleet: Fleet) -> None:
    named = fleet.config.role("worker").harnesses
    if named is None:
        named = tuple(await anyio.to_thread.run_sync(fleet.harnesses.available, os.environ))
    fleet.rotation = named


def _set_error(world: World, project: Project, problem: str) -> None:
    log.warning("project %s: %s", project.name, problem)
    if project.config_error != problem:
        with world.transaction() as store:
            update(store, Project, project.id, {"config_error": problem, "actor": ACTOR})
