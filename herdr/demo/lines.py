"""The progress of a campaign as plain lines, one per thing that happened, from the event log."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from herdr.campaign.text import first_line
from herdr.contract.words import EventKind, Origin
from herdr.ops.views import EventView

from .scene import Scene


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What the lines say of an event's payload; docs/events.md says which kinds have which fields."""

    run: int | None = None
    failed_start: bool | int | None = None
    cause: str | None = None
    new: str | None = None
    reason: str | None = None
    what: str | None = None
    error: str | None = None


def line_of(scene: Scene, event: EventView) -> str | None:
    """Say what an event was, or None where it is not worth a line.

    Args:
        scene: the look that found it, or a later one.
        event: the event.
    """
    tell = TELL.get(event.kind)
    return tell(scene, event) if tell is not None else None


def _told(event: EventView) -> Told:
    return msgspec.convert(event.payload, Told)


def _launched(scene: Scene, event: EventView) -> str | None:
    run = scene.run(f"run#{_told(event).run}")
    return f"{event.target} starts on {run.idea}: {run.title}" if run is not None else None


def _ended(_scene: Scene, event: EventView) -> str | None:
    facts = _told(event)
    if not facts.failed_start:
        return None
    return f"{event.target} never really started ({facts.cause})"


def _ran(scene: Scene, event: EventView) -> str | None:
    run = scene.run(event.target)
    if run is None or run.end == "finished":
        # Its commits say so.
        return None
    return f"{event.target} on {run.idea} {run.state.replace('_', ' ')}: {run.detail}"


def _added(scene: Scene, event: EventView) -> str | None:
    candidate = scene.candidate(event.target)
    if candidate is None or candidate.origin not in ADDED:
        return None
    return f"{candidate.run} {ADDED[candidate.origin]} {candidate.ref}: {candidate.subject}"


def _judged(scene: Scene, event: EventView) -> str:
    facts = _told(event)
    candidate = scene.candidate(event.target)
    head = " and head" if facts.new == "keep" and candidate is not None and candidate.on_trunk else ""
    return f"{event.target} {facts.new}{head}: {facts.reason}"


def _found(scene: Scene, event: EventView) -> str | None:
    finding = scene.finding(event.target)
    return f"{finding.author} finds: {first_line(finding.body)}" if finding is not None else None


def _status(_scene: Scene, event: EventView) -> str | None:
    return f"{event.target} is parked" if _told(event).new == "parked" else None


def _faulty(_scene: Scene, event: EventView) -> str:
    facts = _told(event)
    return f"fault: {facts.what}: {facts.error}"


#: By origin, how a candidate came about.
ADDED: dict[Origin, str] = {"run": "commits", "recovered": "left uncommitted", "rebase": "goes onto the head as"}
TELL: dict[EventKind, Callable[[Scene, EventView], str | None]] = {
    "agent.launched": _launched,
    "agent.ended": _ended,
    "run.succeeded": _ran,
    "run.failed": _ran,
    "run.timed_out": _ran,
    "run.cancelled": _ran,
    "candidate.added": _added,
    "candidate.judged": _judged,
    "comment.finding": _found,
    "idea.status": _status,
    "daemon.fault": _faulty,
}
