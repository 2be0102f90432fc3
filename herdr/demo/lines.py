"""The progress of a campaign as plain lines, one per thing that happened, from the event log."""

from __future__ import annotations

from collections.abc import Callable

from herdr.cli.output import number, percent

from .scene import Scene, View


def line_of(scene: Scene, event: View) -> str | None:
    """Say what an event was, or None where it is not worth a line.

    Args:
        scene: the look that found it, or a later one.
        event: the event.
    """
    tell = TELL.get(event["kind"])
    return tell(scene, event) if tell is not None else None


def standing_line(scene: Scene) -> str:
    """Where the head stands."""
    head = scene.head
    gain = f" ({percent(-head['share'])})" if head["share"] else ""
    return f"head {head['ref']}, {head['metric']} {number(head['value'])}{gain}"


def _launched(scene: Scene, event: View) -> str | None:
    run = scene.run(f"run#{event['payload']['run']}")
    return run and f"{event['target']} starts on {run['idea']}: {run['title']}"


def _ended(_scene: Scene, event: View) -> str | None:
    facts = event["payload"]
    if not facts["failed_start"]:
        return None
    return (
        f"{event['target']} never really started ({facts['cause']}), so its run starts again: {facts['detail']}"
    )


def _ran(scene: Scene, event: View) -> str | None:
    run = scene.run(event["target"])
    return run and f"{event['target']} on {run['idea']} {run['state'].replace('_', ' ')}: {run['detail']}"


def _added(scene: Scene, event: View) -> str | None:
    candidate = scene.candidate(event["target"])
    how = {"run": "commits", "recovered": "left uncommitted", "rebase": "is merged onto the head:"}
    if candidate is None or candidate["origin"] not in how:
        return None
    return f"{candidate['run']} {how[candidate['origin']]} {candidate['ref']}: {candidate['subject']}"


def _judged(_scene: Scene, event: View) -> str:
    return f"{event['target']} {event['payload']['new']}: {event['payload']['reason']}"


def _moved(scene: Scene, event: View) -> str | None:
    candidate = scene.candidate(event["target"])
    return candidate and f"{event['target']} is the head now: {candidate['subject']}"


def _parked(_scene: Scene, event: View) -> str | None:
    return f"{event['target']} is parked" if event["payload"]["new"] == "parked" else None


def _faulty(_scene: Scene, event: View) -> str:
    return f"fault: {event['payload'].get('what')}: {event['payload'].get('error')}"


TELL: dict[str, Callable[[Scene, View], str | None]] = {
    "agent.launched": _launched,
    "agent.ended": _ended,
    "run.succeeded": _ran,
    "run.failed": _ran,
    "run.timed_out": _ran,
    "run.cancelled": _ran,
    "candidate.added": _added,
    "candidate.judged": _judged,
    "head.moved": _moved,
    "idea.status": _parked,
    "daemon.fault": _faulty,
}
