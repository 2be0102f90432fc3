"""Asks the plugins: each implementation on its own, with a deadline, and never the same hanging one twice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as LateError
from functools import cached_property
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from pluggy import HookImpl

from herdr.contract.facts import ProjectInfo
from herdr.errors import HerdrError
from herdr.plugins.calls import Answer, deadline, start
from herdr.plugins.loading import PluginRow, blocked_names, load_plugins

if TYPE_CHECKING:
    import pluggy

#: How many calls are waited for at once; those that were given up do not count.
CALLS = 32


class PluginError(HerdrError):
    """No plugin gave the answer that was asked for, because one of them failed."""


class PluginHost:
    """The plugins of this process; they are loaded when one is first needed.

    Args:
        block: plugins to leave out, beside those that HERDR_BLOCK_PLUGINS names.
        environ: where HERDR_BLOCK_PLUGINS and HERDR_TRACE_PLUGINS are read from.
    """

    def __init__(self, *, block: Iterable[str] = (), environ: Mapping[str, str] = os.environ) -> None:
        self._blocked = blocked_names(block, environ)
        self._trace = environ.get("HERDR_TRACE_PLUGINS", "") not in {"", "0"}
        self._hanging: dict[str, tuple[str, Future[Answer]]] = {}
        self._failures: dict[tuple[str, str], str] = {}
        self._listener: Callable[[str, str, str], None] | None = None
        self._limiter: anyio.CapacityLimiter | None = None

    @cached_property
    def _loaded(self) -> tuple[pluggy.PluginManager, list[PluginRow]]:
        manager, rows = load_plugins(self._blocked)
        for row in rows:
            if row.state == "failed":
                self._note(Answer(plugin=row.name, error=row.why), "load")
        return manager, rows

    def plugins_table(self) -> list[PluginRow]:
        """Return a row for each installed plugin, by name; one that failed in this process says in which hook."""
        failed = {
            plugin: f"{hook}: {error}" for (plugin, hook), error in self._failures.items() if hook != "load"
        }
        rows = [
            msgspec.structs.replace(row, state="failed", why=failed[row.name])
            if row.state == "ok" and row.name in failed
            else row
            for row in self._loaded[1]
        ]
        return sorted(rows, key=lambda row: row.name)

    def implementations(self, hook: str) -> list[HookImpl]:
        """Return who implements a hook, in the order in which they are asked: built-in plugins last."""
        caller: pluggy.HookCaller = getattr(self._loaded[0].hook, hook)
        return caller.get_hookimpls()[::-1]

    def implements(self, hook: str, plugin: str | None = None) -> bool:
        """Say whether any plugin, or this one, implements a hook.

        Args:
            hook: the hook's name.
            plugin: the plugin's name; None for any.
        """
        return any(plugin in {None, found.plugin_name} for found in self.implementations(hook))

    def listen(self, listener: Callable[[str, str, str], None]) -> None:
        """Have failures told, from now on, to `listener(plugin, hook, error)`; those so far are told at once.

        A failure that repeats itself is told once, until the plugin has answered the same hook in between.
        """
        assert self._loaded
        self._listener = listener
        for (plugin, hook), error in self._failures.items():
            listener(plugin, hook, error)

    async def call_all(self, hook: str, **arguments: Any) -> list[Answer]:
        """Ask every plugin that implements `hook`, all at once, and return their answers in pluggy's order.

        Args:
            hook: the hook's name.
            **arguments: what the hook's specification says.
        """
        asked = self._asked(hook, arguments)
        answers: list[Answer | None] = [None] * len(asked)

        async def ask(place: int, implementation: HookImpl) -> None:
            answers[place] = await self._ask(implementation, hook, arguments)

        async with anyio.create_task_group() as group:
            for place, implementation in enumerate(asked):
                group.start_soon(ask, place, implementation)
        return [answer for answer in answers if answer is not None]

    async def call(self, plugin: str, hook: str, **arguments: Any) -> Answer:
        """Ask one plugin that implements `hook`.

        Args:
            plugin: the plugin's name.
            hook: the hook's name.
            **arguments: what the hook's specification says.
        """
        implementation = next(i for i in self.implementations(hook) if i.plugin_name == plugin)
        return await self._ask(implementation, hook, arguments)

    async def first(self, hook: str, **arguments: Any) -> Any:
        """Return the first answer that is not None, asking one plugin after the other; None when all pass.

        Args:
            hook: the hook's name.
            **arguments: what the hook's specification says.

        Raises:
            PluginError: none answered, and one of them failed: it might have been the one to answer.
        """
        failed: list[Answer] = []
        for implementation in self._asked(hook, arguments):
            answer = await self._ask(implementation, hook, arguments)
            if answer.error is not None:
                failed.append(answer)
            elif answer.value is not None:
                return answer.value
        if failed:
            raise PluginError(
                f"plugin {failed[0].plugin} failed in {hook}: {failed[0].error}",
                fix=f"repair it, or block it: HERDR_BLOCK_PLUGINS={failed[0].plugin}",
            )
        return None

    def setup(self, hook: str, registrar: Callable[[str], Callable[[Any], None]]) -> list[Answer]:
        """Run a set-up hook, blocking; each plugin is given a `register` of its own, `registrar(plugin)`.

        Args:
            hook: the hook's name.
            registrar: makes the `register` of the plugin that it is given the name of.
        """
        answers = []
        for implementation in self.implementations(hook):
            plugin = implementation.plugin_name
            limit = deadline(hook, {})
            future = start(implementation, hook, {"register": registrar(plugin)}, trace=self._trace)
            try:
                answer = future.result(timeout=limit)
            except LateError:
                answer = self._late(plugin, hook, future, limit)
            answers.append(self._note(answer, hook))
        return answers

    def _asked(self, hook: str, arguments: Mapping[str, Any]) -> list[HookImpl]:
        """Return who is to be asked: not those that the project in question blocks."""
        blocked: set[str] = set()
        for value in arguments.values():
            project = value if isinstance(value, ProjectInfo) else getattr(value, "project", None)
            if isinstance(project, ProjectInfo):
                block = project.settings.get("block", ())
                blocked.update(block if isinstance(block, (list, tuple)) else ())
        return [found for found in self.implementations(hook) if found.plugin_name not in blocked]

    async def _ask(self, implementation: HookImpl, hook: str, arguments: Mapping[str, Any]) -> Answer:
        plugin = implementation.plugin_name
        limit = deadline(hook, arguments)
        self._limiter = self._limiter or anyio.CapacityLimiter(CALLS)
        async with self._limiter:
            busy, hanging = self._hanging.get(plugin, ("", None))
            if hanging is not None and not hanging.done():
                return self._note(Answer(plugin=plugin, error=f"skipped: its {busy} has not come back"), hook)
            future = start(implementation, hook, arguments, trace=self._trace)
            with anyio.move_on_after(limit):
                return self._note(await asyncio.wrap_future(future), hook)
        return self._note(self._late(plugin, hook, future, limit), hook)

    def _late(self, plugin: str, hook: str, future: Future[Answer], limit: float) -> Answer:
        self._hanging[plugin] = (hook, future)
        return Answer(plugin=plugin, error=f"no answer within {limit:g} s; what it may still answer is dropped")

    def _note(self, answer: Answer, hook: str) -> Answer:
        key = (answer.plugin, hook)
        if answer.error is None:
            self._failures.pop(key, None)
        elif self._failures.get(key) != answer.error:
            self._failures[key] = answer.error
            if self._listener is not None:
                self._listener(answer.plugin, hook, answer.error)
        return answer
