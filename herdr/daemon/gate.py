"""Whether an agent may be launched now: the project's state, and the hold after failed starts."""

from __future__ import annotations

from typing import Literal

from herdr.campaign.breaker import WINDOW, held_until
from herdr.daemon.world import Work, World, parse_stamp, stamp_of
from herdr.store.rows import Project, Sweep

#: `cancelled` and `stopped` are for good; the others pass.
Closed = Literal["cancelled", "stopped", "paused", "held", "ending"]


def closed(world: World, work: Work) -> Closed | None:
    """Why no agent may be launched for this run or sweep now; None when one may be."""
    if work.cancel_requested:
        return "cancelled"
    project = world.project(work.project_id)
    last = isinstance(work, Sweep) and work.trigger == "closing"
    if project.state == "stopped" and not last:
        return "stopped"
    return shut(world, project)


def shut(world: World, project: Project) -> Closed | None:
    """Why nothing may be launched for a project now, leaving aside that it may have stopped."""
    if world.ending:
        return "ending"
    if project.state == "paused":
        return "paused"
    return "held" if hold(world, project) is not None else None


def hold(world: World, project: Project) -> float | None:
    """Until when failed starts hold up a project's launches, in seconds since the epoch."""
    now = world.now().timestamp()
    rows = world.store.execute(
        "SELECT ended_at FROM agents WHERE project_id = ? AND failed_start = 1 AND ended_at > ?",
        (project.id, stamp_of(now - WINDOW)),
    ).fetchall()
    resumed = parse_stamp(project.resumed_at).timestamp() if project.resumed_at else None
    return held_until((parse_stamp(row[0]).timestamp() for row in rows), now=now, resumed=resumed)
