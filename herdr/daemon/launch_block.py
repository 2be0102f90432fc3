"""Whether an agent may be launched now: the project's state, and the hold after failed starts."""

from __future__ import annotations

from typing import Literal

from herdr.campaign.circuit_breaker import WINDOW, held_until
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
    return project_launch_block(app, project)


def project_launch_block(app: AppContext, project: Project) -> LaunchBlock | None:
    """Why nothing may be launched for a project now, leaving aside that it may have stopped."""
    if app.ending:
        return "ending"
    if project.state == "paused":
        return "paused"
    return "held" if open_until(app, project) is not None else None


def open_until(app: AppContext, project: Project) -> float | None:
    """Until when failed starts hold up a project's launches, in seconds since the epoch."""
    now = app.now().timestamp()
    rows = app.store.execute(
        "SELECT ended_at FROM agents WHERE project_id = ? AND failed_start = 1 AND ended_at > ?",
        (project.id, timestamp_at(now - WINDOW)),
    ).fetchall()
    resumed = parse_timestamp(project.resumed_at).timestamp() if project.resumed_at else None
    return held_until((parse_timestamp(row[0]).timestamp() for row in rows), now=now, resumed=resumed)
