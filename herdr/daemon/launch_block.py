"""Whether an agent may be launched now: the project's state, and the hold after failed starts."""

from __future__ import annotations

from typing import Literal

from herdr.campaign.circuit_breaker import OF_THE_HARNESS, OF_THE_PROJECT, WINDOW, held_until
from herdr.contract.harness import Cause
from herdr.daemon.app_context import AppContext, Work
from herdr.store.rows import Project, Sweep
from herdr.times import parse_timestamp, timestamp_at

#: `cancelled` and `stopped` end the run or the sweep; with the others it waits in the queue.
LaunchBlock = Literal["cancelled", "stopped", "paused", "held", "ending"]


def launch_block(app: AppContext, work: Work) -> LaunchBlock | None:
    """Why no agent may be launched for this run or sweep now; None when one may be."""
    if work.cancel_requested:
        return "cancelled"
    project = app.project(work.project_id)
    last = isinstance(work, Sweep) and work.trigger == "closing"
    if project.state == "stopped" and not last:
        return "stopped"
    block = project_launch_block(app, project)
    return block or ("held" if work.harness in held_harnesses(app, project) else None)


def project_launch_block(app: AppContext, project: Project) -> LaunchBlock | None:
    """Why nothing may be launched for a project now, leaving aside that it may have stopped."""
    if app.ending:
        return "ending"
    if project.state == "paused":
        return "paused"
    return "held" if open_until(app, project) is not None else None


def open_until(app: AppContext, project: Project) -> float | None:
    """Until when failed starts hold up a project's launches, in seconds since the epoch."""
    return _until(app, project, [at for at, _, cause in _failed(app, project) if cause in OF_THE_PROJECT])


def held_harnesses(app: AppContext, project: Project) -> dict[str, float]:
    """The harnesses that their own failed starts hold up, and until when, in seconds since the epoch."""
    failed = [(at, harness) for at, harness, cause in _failed(app, project) if cause in OF_THE_HARNESS]
    found = {name: _until(app, project, [at for at, one in failed if one == name]) for _, name in failed}
    return {name: until for name, until in found.items() if until is not None}


def _until(app: AppContext, project: Project, failed: list[float]) -> float | None:
    resumed = parse_timestamp(project.resumed_at).timestamp() if project.resumed_at else None
    return held_until(failed, now=app.now().timestamp(), resumed=resumed)


def _failed(app: AppContext, project: Project) -> list[tuple[float, str, Cause]]:
    """When starts failed lately, of which harness, and why."""
    rows = app.store.execute(
        "SELECT ended_at, harness, coalesce(cause, 'unknown') FROM agents"
        " WHERE project_id = ? AND failed_start = 1 AND ended_at > ?",
        (project.id, timestamp_at(app.now().timestamp() - WINDOW)),
    )
    return [(parse_timestamp(row[0]).timestamp(), row[1], row[2]) for row in rows]
