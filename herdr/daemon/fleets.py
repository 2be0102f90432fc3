"""Opens a fleet for each registered project, and takes up an edited piloop.toml."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import anyio.to_thread

from herdr.config import Config, ConfigError, read_config
from herdr.daemon.judging import want_score
from herdr.daemon.world import ACTOR, Fleet, World, log
from herdr.errors import HerdrError
from herdr.harness.registry import Harnesses
from herdr.mux.server import TmuxServer
from herdr.runtime.api import Runtime
from herdr.runtime.background import BackgroundRuntime
from herdr.runtime.pane import PaneRuntime
from herdr.scoring.evaluator import define, register
from herdr.store.rows import Agent, Evaluator, Project, fetch, find, get, update

RUNTIME_LATER = (
    'runtime = "{}" takes effect once no agent of the project runs: `herdr down --kill-agents`, then `herdr up`'
)


async def take_in(world: World) -> None:
    """Open a fleet for every project that has none yet; one that fails is told, and tried at the next change."""
    async with world.taking_in:
        for project in fetch(world.store, Project, "ORDER BY id"):
            if project.id not in world.fleets:
                await world.guard(f"taking in project {project.name}", partial(_open, world, project), project.id)


async def _open(world: World, project: Project) -> None:
    config = Config.from_json(project.config)
    fleet = Fleet(project, config, _harnesses(world, config), await _runtime(world, project, config))
    await _choose_rotation(fleet)
    world.fleets[project.id] = fleet
    await reload(world, fleet)
    world.bell.ring()


async def _runtime(world: World, project: Project, config: Config) -> Runtime:
    """Where the project's agents run, by its configuration."""
    if config.runtime == "subprocess":
        return BackgroundRuntime()
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
    runtime.on_change(lambda _: world.bell.ring())
    return runtime


async def reload(world: World, fleet: Fleet) -> None:
    """Read piloop.toml again; a broken one leaves the last good in force, its mistakes in the project's row."""
    project = get(world.store, Project, fleet.project_id)
    try:
        config = await anyio.to_thread.run_sync(read_config, fleet.root, os.environ)
    except ConfigError as error:
        _set_error(world, project, str(error))
        return
    if config.runtime != fleet.config.runtime and not await _moved(world, project, fleet, config):
        return
    fleet.config = config
    fleet.harnesses = _harnesses(world, config)
    await _choose_rotation(fleet)
    await _take_up(world, project, fleet)


async def _moved(world: World, project: Project, fleet: Fleet, config: Config) -> bool:
    """Change the runtime; False, with the reason in the project's row, while agents live in the old one."""
    try:
        runtime = await _runtime(world, project, config)
    except HerdrError as error:
        _set_error(world, project, error.message)
        return False
    if find(world.store, Agent, "WHERE project_id = ? AND state <> 'ended'", project.id) is not None:
        await runtime.aclose()
        _set_error(world, project, RUNTIME_LATER.format(config.runtime))
        return False
    # No await between the look and the change: an agent's row is there before it is launched.
    old, fleet.runtime, fleet.config = fleet.runtime, runtime, config
    await old.aclose()
    return True


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
