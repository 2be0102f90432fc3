"""What each kind of event means, what it is about, and which fields its payload has.

Triggers of the schema write most of them, `herdr.store.rows.emit` the others. `docs/events.md` is made from this
table, and `tests/store/test_event_kinds.py` holds it equal to both.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from herdr.contract.words import EventKind


class EventMeaning(msgspec.Struct, frozen=True):
    """One kind of event."""

    means: str
    target: str
    """The kind of row that it is about; "" for none."""
    payload: tuple[str, ...] = ()
    """The names of its fields; `FIELDS` says what they hold."""


_STATE = ("old", "end", "detail", "counts")
_SWEEP = ("role", "trigger", "old", "detail")
_AGENT = ("old", "new", "cause", "detail", "failed_start")
_MESSAGE = ("message", "kind", "comment", "detail")
_MEASUREMENT = ("measurement", "error", "metrics")
_ANOMALY = ("detail", "incident")
_COMMENT = ("on", "priority")
_CHANGES = ("priority", "title", "harness", "model", "base", "family", "attempts", "texts", "reason")

EVENTS: Mapping[EventKind, EventMeaning] = {
    "project.registered": EventMeaning("`herdr init` has made it known", "project", ("name", "path")),
    "project.active": EventMeaning("agents are launched again", "project", ("reason",)),
    "project.paused": EventMeaning("a person wants no agent launched", "project", ("reason",)),
    "project.stopped": EventMeaning("a limit of `[stop]` or `[spend]` is reached", "project", ("reason",)),
    "project.config": EventMeaning("`piloop.toml` was taken up, or is wrong", "project", ("error",)),
    "project.evaluator": EventMeaning("scores are made by another evaluator", "project", ("old", "new")),
    "launching.held": EventMeaning("too many starts failed: nothing is launched", "project", ("since",)),
    "launching.resumed": EventMeaning("that is over", "project", ("since",)),
    "head.moved": EventMeaning("this keep is the best now", "candidate", ("old",)),
    "idea.added": EventMeaning("it was filed", "idea", ("title", "status", "priority")),
    "idea.status": EventMeaning("its status is another", "idea", ("old", "new", "reason")),
    "idea.edited": EventMeaning("it was changed; only the fields that changed are there", "idea", _CHANGES),
    "idea.linked": EventMeaning("it waits for another idea, or replaces it", "idea", ("kind", "to", "reason")),
    "idea.unlinked": EventMeaning("such a link was taken away", "idea", ("kind", "to", "reason")),
    "run.queued": EventMeaning(
        "it waits to be launched, for the first time or again",
        "run",
        ("idea", "number", "harness", "base", *_STATE),
    ),
    "run.running": EventMeaning("its agent was launched", "run", _STATE),
    "run.succeeded": EventMeaning("it brought commits or a finding", "run", _STATE),
    "run.failed": EventMeaning("it brought nothing, or could not work", "run", _STATE),
    "run.timed_out": EventMeaning("its time was up", "run", _STATE),
    "run.cancelled": EventMeaning("somebody ended it", "run", _STATE),
    "run.cancel_requested": EventMeaning("somebody wants it ended", "run", ("reason",)),
    "run.requeued": EventMeaning("somebody gave its idea another run in its place", "run", ("reason",)),
    "run.settled": EventMeaning("its commits are judged and its idea has moved", "run", ("end",)),
    "sweep.queued": EventMeaning(
        "it waits to be launched, for the first time or again", "sweep", ("harness", *_SWEEP)
    ),
    "sweep.running": EventMeaning("its agent was launched", "sweep", _SWEEP),
    "sweep.done": EventMeaning("it did its work", "sweep", _SWEEP),
    "sweep.failed": EventMeaning("it could not work", "sweep", _SWEEP),
    "sweep.timed_out": EventMeaning("its time was up", "sweep", _SWEEP),
    "sweep.cancelled": EventMeaning("somebody ended it", "sweep", _SWEEP),
    "sweep.cancel_requested": EventMeaning("somebody wants it ended", "sweep", ("reason",)),
    "anomaly.failed_run": EventMeaning("a run failed", "run", _ANOMALY),
    "anomaly.failed_start": EventMeaning("an agent could not start", "agent", _ANOMALY),
    "anomaly.no_change": EventMeaning("a candidate is the same as its bar", "candidate", _ANOMALY),
    "anomaly.idle_queue": EventMeaning("no idea is ready; about the latest run", "run", _ANOMALY),
    "anomaly.silent_agent": EventMeaning("an agent has shown nothing new for long", "agent", _ANOMALY),
    "agent.launched": EventMeaning("it is being started", "agent", ("run", "sweep", "harness", "role")),
    "agent.started": EventMeaning("its process runs", "agent", ("run", "pid")),
    "agent.adopted": EventMeaning("a daemon found it that did not start it", "", ("agent",)),
    "agent.state": EventMeaning("its screen says something else", "agent", _AGENT),
    "agent.ended": EventMeaning("its process has ended", "agent", _AGENT),
    "candidate.added": EventMeaning("a distinct state of the code", "candidate", ("run", "commit", "origin")),
    "candidate.skipped": EventMeaning("one that is not scored", "candidate", ("run", "commit", "origin")),
    "candidate.judged": EventMeaning(
        "its verdict is another", "candidate", ("run", "old", "new", "rule", "reason", "cause")
    ),
    "candidate.remeasure": EventMeaning("somebody wants it scored again", "candidate", ("reason",)),
    "measurement.queued": EventMeaning("it waits for the evaluator again", "candidate", _MEASUREMENT),
    "measurement.running": EventMeaning("the evaluator runs", "candidate", _MEASUREMENT),
    "measurement.done": EventMeaning("the evaluator has ended", "candidate", _MEASUREMENT),
    "comment.note": EventMeaning("a comment", "comment", _COMMENT),
    "comment.finding": EventMeaning("something that was learnt", "comment", _COMMENT),
    "comment.decision": EventMeaning("why somebody did something", "comment", _COMMENT),
    "comment.escalation": EventMeaning("a person is asked", "comment", _COMMENT),
    "comment.acked": EventMeaning("it is out of the inbox", "comment"),
    "message.queued": EventMeaning("a text is to be typed, or to be typed again", "agent", _MESSAGE),
    "message.typed": EventMeaning("it stands in the agent's input line", "agent", _MESSAGE),
    "message.received": EventMeaning("the agent took it", "agent", _MESSAGE),
    "message.unconfirmed": EventMeaning("it was typed; whether it was taken is not known", "agent", _MESSAGE),
    "message.failed": EventMeaning("it was not typed", "agent", _MESSAGE),
    "orchestrator.token": EventMeaning("a program may act as the orchestrator", ""),
    "orchestrator.revoked": EventMeaning("no program may any more", ""),
    "plugin.failed": EventMeaning("a hook of a plugin failed", "", ("plugin", "hook", "error")),
    "daemon.started": EventMeaning("the daemon is up", "", ("pid", "version")),
    "daemon.stopped": EventMeaning("the daemon goes down", "", ("pid",)),
    "daemon.fault": EventMeaning("a part of the daemon failed, and is tried again", "", ("what", "error")),
}

FIELDS: Mapping[str, str] = {
    "agent": "its name, such as `worker#3`",
    "attempts": "how many runs the idea gets: before and now",
    "base": "the id of the candidate that it starts from; in `idea.edited` before and now",
    "cause": "why an agent is in trouble; what made a verdict another one than the scores say",
    "comment": "the id of the comment that the message brings",
    "commit": "the commit's SHA",
    "counts": "1 when the run is one of the idea's attempts",
    "detail": "the same for a person",
    "end": "how the run ended",
    "error": "what went wrong; null when nothing did",
    "failed_start": "1 when the agent ended before it could work",
    "family": "what kind of idea it is: before and now",
    "harness": "which harness; in `idea.edited` before and now",
    "hook": "the hook's name",
    "idea": "the idea's id",
    "incident": "1 when the watchdog is to look into it at once",
    "kind": "of the link or of the message",
    "measurement": "the measurement's id",
    "message": "the message's id",
    "metrics": "what the evaluator printed, by name",
    "model": "which model: before and now",
    "name": "the project's name",
    "new": "what it is now",
    "number": "1 for the idea's first run",
    "old": "what it was before",
    "on": "what the comment is on, such as `run#7`",
    "origin": "where the candidate comes from",
    "path": "the repo",
    "pid": "of the process",
    "plugin": "the plugin's name",
    "priority": "0 is the most urgent, 4 the least; in `idea.edited` before and now",
    "reason": "why, in the words of whoever did it",
    "role": "the agent's role",
    "rule": "which rule decided",
    "run": "the run's id",
    "since": "since when nothing was launched",
    "status": "the idea's status",
    "sweep": "the sweep's id",
    "texts": "1 when hypothesis, plan or provenance changed",
    "title": "the idea's title; in `idea.edited` before and now",
    "to": "the id of the other idea",
    "trigger": "what started the sweep",
    "version": "herdr's version",
    "what": "which part",
}
