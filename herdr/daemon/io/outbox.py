"""Feeds the facts of the event log to plugins: in order, at least once, each plugin at its own pace."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import msgspec

from herdr.contract.words import EventKind
from herdr.daemon.change_notifier import ChangeNotifier
from herdr.errors import HerdrError
from herdr.plugins import PluginHost
from herdr.store.connection import Store, transaction
from herdr.store.cursors import Cursor, cursor, write_cursor
from herdr.store.facts import agent_info, candidate_info, escalation, measurement_info, run_info
from herdr.store.failures import store_errors
from herdr.store.rows import (
    Agent,
    Candidate,
    Comment,
    Event,
    Measurement,
    Project,
    Run,
    emit,
    find,
    get,
    get_or_none,
)

log = logging.getLogger("herdr.outbox")

Arguments = dict[str, Any]
FIRST_RETRY, LAST_RETRY = 1.0, 300.0
#: Seconds to wait when it is not the plugin that failed.
PAUSE = 10.0


def _agent(store: Store, event: Event) -> Arguments | None:
    return {"agent": agent_info(get(store, Agent, _target(event)))}


def _attempt(store: Store, event: Event) -> Arguments | None:
    candidate = get(store, Candidate, _target(event))
    if candidate.run_id is None:
        return None
    measured = find(
        store, Measurement, "WHERE candidate_id = ? AND state = 'done' ORDER BY id DESC", candidate.id
    )
    return {
        "run": run_info(get(store, Run, candidate.run_id)),
        "candidate": candidate_info(candidate),
        "measurement": None if measured is None else measurement_info(measured),
        "verdict": msgspec.json.decode(event.payload).get("new"),
    }


def _submit(store: Store, event: Event) -> Arguments | None:
    if event.target_id is None:
        return None
    candidate = get(store, Candidate, event.target_id)
    if candidate.run_id is None:
        return None
    return {"run": run_info(get(store, Run, candidate.run_id)), "candidate": candidate_info(candidate)}


def _release(store: Store, event: Event) -> Arguments | None:
    run = get(store, Run, _target(event))
    return {"run": run_info(run), "reason": run.end_cause or run.state}


def _escalate(store: Store, event: Event) -> Arguments | None:
    return {"escalation": escalation(get(store, Comment, _target(event)))}


#: Which events are facts, the hook of each, and what it is called with (None: nobody is told).
FACTS: Mapping[EventKind, tuple[str, Callable[[Store, Event], Arguments | None]]] = {
    "agent.started": ("herdr_agent_started", _agent),
    "agent.ended": ("herdr_agent_ended", _agent),
    "candidate.judged": ("herdr_attempt", _attempt),
    "candidate.skipped": ("herdr_attempt", _attempt),
    "head.moved": ("herdr_submit", _submit),
    "run.settled": ("herdr_release", _release),
    "comment.escalation": ("herdr_escalate", _escalate),
}


class Outbox:
    """The way of facts to plugins. A plugin that fails is named in the log and asked again; others go on.

    Args:
        store: the daemon's connection.
        host: the plugins; their failures, in facts or elsewhere, go into the event log from now on.
        changes: notified when the event log may have grown.
        clock: the time in seconds since the epoch.
    """

    def __init__(
        self, store: Store, host: PluginHost, changes: ChangeNotifier, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._host = host
        self._changes = changes
        self._clock = clock
        #: How far each plugin's log was looked through; only spares looking again.
        self._seen: dict[str, int] = {}
        host.listen(self._tell)

    def plugins(self) -> list[str]:
        """Return the plugins that want facts."""
        hooks = {hook for hook, _ in FACTS.values()}
        return [row.name for row in self._host.plugins_table() if hooks.intersection(row.hooks)]

    async def run(self) -> None:
        """Feed all plugins until cancelled."""
        async with anyio.create_task_group() as group:
            for plugin in self.plugins():
                group.start_soon(self._feed, plugin)

    async def _feed(self, plugin: str) -> None:
        while True:
            wait = await self._try(plugin)
            if wait != 0:
                await self._changes.wait(wait)

    async def _try(self, plugin: str) -> float | None:
        try:
            with store_errors(self._store.path):
                return await self.step(plugin)
        except Exception:
            # The store is locked or full, say. Nothing was noted down, so the same fact comes again.
            log.exception("cannot feed the plugin %s", plugin)
            await anyio.sleep(PAUSE)
            return 0.0

    async def step(self, plugin: str) -> float | None:
        """Give a plugin the next fact, if there is one and it is due.

        Returns:
            The seconds until it is worth coming back: 0 for at once, None when only a new event makes it so.
        """
        place = cursor(self._store, plugin)
        left = (place.retry_at or 0.0) - self._clock()
        # More than the longest pause means that the clock was set back, which must not silence a plugin.
        if 0 < left <= LAST_RETRY:
            return left
        found = self._next(plugin, place)
        if found is None:
            return None
        event, hook, arguments = found
        answer = await self._host.call(plugin, hook, event_id=event.id, **arguments)
        if answer.error is None:
            after, wait = Cursor(plugin=plugin, event_id=event.id), 0.0
        else:
            wait = min(FIRST_RETRY * 2.0 ** min(place.failures, 30), LAST_RETRY)
            after = msgspec.structs.replace(
                place, failures=place.failures + 1, retry_at=self._clock() + wait, error=f"{hook}: {answer.error}"
            )
        with transaction(self._store) as store:
            write_cursor(store, after)
        return wait

    def _next(self, plugin: str, place: Cursor) -> tuple[Event, str, Arguments] | None:
        """Find the first event after the cursor that is a fact for this plugin."""
        kinds = tuple(kind for kind, (hook, _) in FACTS.items() if self._host.implements(hook, plugin))
        marks = ", ".join("?" for _ in kinds)
        after = max(place.event_id, self._seen.get(plugin, 0))
        while True:
            event = find(self._store, Event, f"WHERE id > ? AND kind IN ({marks}) ORDER BY id", after, *kinds)
            if event is None:
                return None
            hook, build = FACTS[event.kind]
            arguments = None if self._blocked(plugin, event) else build(self._store, event)
            if arguments is not None:
                return event, hook, arguments
            after = self._seen[plugin] = event.id

    def _blocked(self, plugin: str, event: Event) -> bool:
        """Say whether the project of an event turns the plugin off."""
        project = None if event.project_id is None else get_or_none(self._store, Project, event.project_id)
        config = {} if project is None else msgspec.json.decode(project.config)
        return plugin in config.get("plugins", {}).get("block", ())

    def _tell(self, plugin: str, hook: str, error: str) -> None:
        try:
            with transaction(self._store) as store:
                emit(store, "plugin.failed", "daemon", payload={"plugin": plugin, "hook": hook, "error": error})
        except HerdrError:
            log.exception("cannot record that the plugin %s failed in %s: %s", plugin, hook, error)


def _target(event: Event) -> int:
    assert event.target_id is not None
    return event.target_id
