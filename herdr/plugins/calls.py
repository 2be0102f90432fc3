"""One call of one plugin's implementation, in a thread that may be given up, with its outcome as a value."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import msgspec
from pluggy import HookImpl

from herdr.contract.facts import (
    BriefSection,
    ClaimAnswer,
    EvaluationRequest,
    EvaluationResult,
    OutsideIdea,
    ProjectInfo,
)
from herdr.errors import HerdrError, describe

log = logging.getLogger("herdr.plugins")

#: Seconds that an answer may take. A scoring has the candidate's own timeout on top.
DEADLINES = {
    "herdr_register_harnesses": 10.0,
    "herdr_doctor_checks": 10.0,
    "herdr_brief": 30.0,
    "herdr_brief_sections": 30.0,
    "herdr_collect_ideas": 120.0,
}
DEADLINE = 60.0
#: What an answer may be besides None; a sequence is checked item by item.
SINGLE: dict[str, type] = {"herdr_brief": str, "herdr_claim": ClaimAnswer, "herdr_evaluate": EvaluationResult}
SEVERAL: dict[str, type] = {"herdr_brief_sections": BriefSection, "herdr_collect_ideas": OutsideIdea}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What one plugin answered, or why it did not."""

    plugin: str
    value: Any = None
    error: str | None = None


def deadline(hook: str, arguments: Mapping[str, object]) -> float:
    """Return how many seconds a call of this hook may take.

    Args:
        hook: the hook's name.
        arguments: what it is called with; a request for a scoring brings its own timeout.
    """
    request = arguments.get("request")
    extra = request.timeout if isinstance(request, EvaluationRequest) else 0.0
    return DEADLINES.get(hook, DEADLINE) + extra


def start(implementation: HookImpl, hook: str, arguments: Mapping[str, Any], *, trace: bool) -> Future[Answer]:
    """Call an implementation in a thread of its own.

    The thread is a daemon: one that never comes back keeps neither the loop nor the process from ending.

    Args:
        implementation: one plugin's.
        hook: the hook's name.
        arguments: all that the hook has; an implementation is given those that it names.
        trace: write a line on standard error with the time that it took.
    """
    plugin = implementation.plugin_name
    future: Future[Answer] = Future()
    future.set_running_or_notify_cancel()

    def work() -> None:
        begun = time.perf_counter()
        answer = call(implementation, hook, arguments)
        if trace:
            spent = (time.perf_counter() - begun) * 1000
            outcome = answer.error or ("None" if answer.value is None else type(answer.value).__name__)
            # In one piece: another plugin's thread may be writing its line.
            sys.stderr.write(f"herdr: {plugin} {hook} {spent:.1f} ms: {outcome}\n")
            sys.stderr.flush()
        future.set_result(answer)

    threading.Thread(target=work, name=f"{plugin} {hook}", daemon=True).start()
    return future


def call(implementation: HookImpl, hook: str, arguments: Mapping[str, Any]) -> Answer:
    """Call an implementation with those arguments that it takes; whatever it raises is the answer's error.

    Args:
        implementation: one plugin's.
        hook: the hook's name.
        arguments: all that the hook has.
    """
    plugin = implementation.plugin_name
    try:
        given = {name: own_part(arguments[name], plugin) for name in implementation.argnames}
        value = implementation.function(**given)
        check_answer(hook, value)
    except BaseException as error:
        # What is meant for a person needs no traceback.
        trace = None if isinstance(error, HerdrError) else error
        log.warning("plugin %s failed in %s: %s", plugin, hook, error, exc_info=trace)
        return Answer(plugin=plugin, error=describe(error))
    return Answer(plugin=plugin, value=value)


def own_part(value: Any, plugin: str) -> Any:
    """Leave a plugin only its own table of `[plugins]`, in a project or in what has a project.

    Args:
        value: an argument of a hook, of any type.
        plugin: the plugin that it is passed to.
    """
    if isinstance(value, ProjectInfo):
        table = value.settings.get(plugin)
        return msgspec.structs.replace(value, settings=table if isinstance(table, Mapping) else {})
    project = getattr(value, "project", None)
    if isinstance(project, ProjectInfo):
        return msgspec.structs.replace(value, project=own_part(project, plugin))
    return value


def check_answer(hook: str, value: object) -> None:
    """Raise TypeError for an answer that is not what the hook says, before the daemon works with it.

    Args:
        hook: the hook's name.
        value: what the implementation returned.
    """
    if value is None:
        return
    single, several = SINGLE.get(hook), SEVERAL.get(hook)
    if single is not None and not isinstance(value, single):
        raise TypeError(f"{hook} returned {type(value).__name__}, not {single.__name__} or None")
    if several is not None:
        if not isinstance(value, Sequence):
            raise TypeError(f"{hook} returned {type(value).__name__}, not a list of {several.__name__}")
        for item in value:
            if not isinstance(item, several):
                raise TypeError(f"{hook} returned a {type(item).__name__} among its {several.__name__}s")
