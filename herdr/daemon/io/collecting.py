"""Takes in ideas from outside, such as a forge's theses, that plugins collect (`herdr_collect_ideas`)."""

from __future__ import annotations

from functools import partial

import anyio

from herdr.contract.facts import OutsideIdea
from herdr.daemon.app_context import AppContext, Fleet
from herdr.store.facts import project_info
from herdr.store.rows import Idea, find

#: Seconds between two rounds; a plugin that needs a slower pace answers from a cache of its own.
EVERY = 60.0


class Collecting:
    """Asks the plugins again and again; an idea is taken in once, by its key."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    async def run(self) -> None:
        """Collect until cancelled; ends at once when no plugin collects."""
        while self._app.host.implements("herdr_collect_ideas"):
            for fleet in list(self._app.fleets.values()):
                work = partial(collect_ideas, self._app, fleet)
                await self._app.guard(f"collecting ideas for {fleet.name}", work, fleet.project_id)
            # A fleet that was just opened is asked about soon.
            await anyio.sleep(EVERY if self._app.fleets else 1.0)


async def collect_ideas(app: AppContext, fleet: Fleet) -> None:
    """One round for one project."""
    project = project_info(app.project(fleet.project_id), fleet.config.plugins)
    for answer in await app.host.call_all("herdr_collect_ideas", project=project):
        for idea in answer.value or ():
            _take_in(app, fleet, answer.plugin, idea)


def _take_in(app: AppContext, fleet: Fleet, plugin: str, idea: OutsideIdea) -> None:
    key = f"{plugin}:{idea.key}"
    if find(app.store, Idea, "WHERE project_id = ? AND outside_key = ?", fleet.project_id, key) is not None:
        return
    same = find(app.store, Idea, "WHERE project_id = ? AND title = ?", fleet.project_id, idea.title)
    with app.transaction() as store:
        Idea.insert(
            store,
            project_id=fleet.project_id,
            title=idea.title if same is None else f"{idea.title} ({idea.key})",
            hypothesis=idea.hypothesis,
            plan=idea.plan,
            priority=min(max(idea.priority, 0), 4),
            source=idea.source,
            outside_key=key,
            actor=plugin,
        )
