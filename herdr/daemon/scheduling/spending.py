"""Runs the [spend] command of each project when it is due, and tells the inbox of the amounts in `notices`."""

from __future__ import annotations

import os
import re
import tempfile
from functools import partial

import anyio

from herdr.config.structs import Spend
from herdr.daemon.app_context import ACTOR, AppContext, Fleet, base_environment
from herdr.runtime.command import run_marked
from herdr.runtime.processes import mark
from herdr.store.rows import Comment, Project
from herdr.times import parse_timestamp

#: Seconds that the command may take.
PATIENCE = 60.0
#: Seconds between looks whether one is due.
LOOK = 1.0
#: Bytes of the end of its output that are read.
OUTPUT_LIMIT = 64 * 1024
PRIORITY = 1
AMOUNT = re.compile(r"\$?\s*([0-9]+(?:\.[0-9]+)?)\s*(?:USD)?", re.IGNORECASE)


class Spending:
    """Keeps `projects.spent` up to date; what comes of it, `stopping` decides."""

    def __init__(self, app: AppContext) -> None:
        self._app = app

    async def run(self) -> None:
        """Look at every project in turn until cancelled."""
        while True:
            for fleet in list(self._app.fleets.values()):
                spend = fleet.config.spend
                if spend is not None and self._due(fleet, spend):
                    work = partial(self._look, fleet, spend)
                    await self._app.guard("the [spend] command", work, fleet.project_id)
            await anyio.sleep(LOOK)

    def _due(self, fleet: Fleet, spend: Spend) -> bool:
        project = self._app.project(fleet.project_id)
        if project.spent_at is None:
            return True
        since = self._app.now().timestamp() - parse_timestamp(project.spent_at).timestamp()
        # Less than none means that the clock was set back.
        return since >= spend.interval or since < 0

    async def _look(self, fleet: Fleet, spend: Spend) -> None:
        output, error = await _run(self._app, fleet, spend)
        amount = None if error else read_amount(output)
        if amount is None and error is None:
            error = f"it printed no amount: {output.strip()[-200:]!r}"
        project = self._app.project(fleet.project_id)
        with self._app.transaction() as store:
            Project.update(store, project.id, spent_at=self._app.timestamp(), spend_error=error, actor=ACTOR)
            if amount is None:
                return
            Project.update(store, project.id, spent=amount, actor=ACTOR)
            for notice in passed_notices(spend, project.spent, amount):
                body = f"{amount:.2f} US dollars are spent, more than {notice:g}; the limit is {spend.limit:g}."
                Comment.insert(
                    store,
                    project_id=project.id,
                    target_kind="project",
                    target_id=project.id,
                    kind="note",
                    priority=PRIORITY,
                    body=body,
                    actor=ACTOR,
                )


def passed_notices(spend: Spend, before: float | None, now: float) -> list[float]:
    """The amounts that were not reached before and are now.

    Args:
        spend: the table [spend].
        before: US dollars at the look before; None for the first look.
        now: US dollars.
    """
    return [notice for notice in sorted(spend.notices) if (before or 0.0) < notice <= now]


def read_amount(output: str) -> float | None:
    """The amount on the last line that is not empty, such as `12.50`, `$12.50` or `12.50 USD`."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    match = AMOUNT.fullmatch(lines[-1]) if lines else None
    return float(match[1]) if match else None


async def _run(app: AppContext, fleet: Fleet, spend: Spend) -> tuple[str, str | None]:
    """What the command printed, and what went wrong."""
    own = mark(app.home, f"spend-{fleet.project_id}")
    with tempfile.TemporaryFile() as out:
        try:
            code = await run_marked(
                spend.command, cwd=fleet.root, env=base_environment(), mark=own, timeout=PATIENCE, stdout=out
            )
        except OSError as error:
            return "", f"cannot run {spend.command[0]}: {error.strerror}"
        out.seek(max(0, out.seek(0, os.SEEK_END) - OUTPUT_LIMIT))
        output = out.read().decode(errors="replace")
    if code is None:
        return "", f"it ran longer than {PATIENCE:g} s"
    return output, f"it exited with status {code}" if code else None
