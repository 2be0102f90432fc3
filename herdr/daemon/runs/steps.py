"""Steps that end: each has a deadline, and what fails in it is said in a sentence and not tried for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from herdr.daemon.app_context import AppContext, Work
from herdr.errors import HerdrError
from herdr.repo.isolated import NotOursError
from herdr.store.failures import StoreError
from herdr.store.rows import Run

#: Seconds that a step has left once it is in the way of a cancel or of the daemon's own end.
HURRY = 6.0
#: Seconds between looks whether it is.
LOOK = 0.5
#: How often a step is tried that failed, and the seconds before each further try.
TRIES, PAUSE = 3, 1.0

T = TypeVar("T")


class StepFailedError(HerdrError):
    """A step could not be done, or not in time; the message says which, and why."""


async def in_time(
    app: AppContext, work: Work, what: str, do: Callable[[], T], limit: float, *, tries: int = 1
) -> T:
    """Do something in a thread that is left alone when it takes too long, whatever it waits for.

    The end of the daemon waits for it, but not long either.

    Args:
        app: the daemon.
        work: the run or the sweep; when it is cancelled, the step has to come to an end soon.
        what: what the step does, such as "its commits could not be taken over".
        do: the step.
        limit: seconds that it has.
        tries: how often it is tried when it fails; one that took too long is not tried again.

    Raises:
        StepFailedError: it failed, or took too long.
        NotOursError: the folder is not the one that herdr made.
    """
    failed: Exception | None = None
    for number in range(tries):
        if number:
            await anyio.sleep(PAUSE)
        found, failed = await _once(app, work, what, do, limit)
        if failed is None:
            assert found is not None, "what did not fail has a result"
            return found[0]
        if isinstance(failed, (NotOursError, StoreError, StepFailedError)):
            raise failed
    if isinstance(failed, HerdrError):
        raise StepFailedError(f"{what}: {failed.message}", fix=failed.fix) from failed
    raise StepFailedError(f"{what}: {type(failed).__name__}: {failed}") from failed


async def _once(
    app: AppContext, work: Work, what: str, do: Callable[[], T], limit: float
) -> tuple[tuple[T] | None, Exception | None]:
    result: list[tuple[T]] = []
    failure: list[Exception] = []

    def attempt() -> None:
        try:
            result.append((do(),))
        except Exception as error:
            failure.append(error)

    with anyio.CancelScope(shield=True, deadline=anyio.current_time() + limit) as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hurry, app, work, scope)
            await anyio.to_thread.run_sync(attempt, abandon_on_cancel=True)
            tasks.cancel_scope.cancel()
    # A step that was cut short because the daemon stops has not failed: the next daemon takes it.
    await anyio.lowlevel.checkpoint()
    if result:
        return result[0], None
    return None, failure[0] if failure else StepFailedError(f"{what}: it took too long")


async def _hurry(app: AppContext, work: Work, scope: anyio.CancelScope) -> None:
    while not is_urgent(app, work):
        await anyio.sleep(LOOK)
    scope.deadline = min(scope.deadline, anyio.current_time() + HURRY)


def is_urgent(app: AppContext, work: Work) -> bool:
    """Whether what is done about a run or a sweep has to come to an end: it is cancelled, or the daemon stops."""
    if app.stopping or app.ending:
        return True
    # Asked again and again, so only for this: the row holds the whole brief.
    table = "runs" if isinstance(work, Run) else "sweeps"
    sql = f"SELECT cancel_requested FROM {table} WHERE id = ?"  # noqa: S608 - one of two names
    (cancelled,) = app.store.execute(sql, (work.id,)).fetchone()
    return bool(cancelled)
