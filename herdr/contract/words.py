"""The closed vocabularies of a campaign, as the store spells them and as plugins read them.

Each is defined once, here; what an agent's state and the causes of its trouble are called stands with the harness
interface, in `herdr.contract.harness`. `tests/store/test_words.py` holds the CHECKs of the schema equal to them.
"""

from __future__ import annotations

from typing import Literal

ProjectState = Literal["active", "paused", "stopped"]

IdeaStatus = Literal["seed", "proposed", "ready", "scheduled", "done", "parked", "rejected"]
LinkKind = Literal["after", "supersedes"]

RunState = Literal["queued", "running", "succeeded", "failed", "timed_out", "cancelled"]
RunEnd = Literal[
    "finished", "finding_only", "no_commits", "recovered_only", "start_failed", "timed_out", "cancelled",
    "process_error", "blocked", "refused", "stopped", "folder_lost", "ending_failed",
]  # fmt: skip

SweepRole = Literal["research", "watchdog"]
ResearchTrigger = Literal["seed", "low_water"]
WatchdogTrigger = Literal["incident", "interval", "closing"]
SweepTrigger = Literal[ResearchTrigger, WatchdogTrigger]
SweepState = Literal["queued", "running", "done", "failed", "timed_out", "cancelled"]

AgentRole = Literal["worker", "research", "watchdog", "lead"]
RuntimeName = Literal["subprocess", "herdr"]

AnomalyKind = Literal["failed_run", "failed_start", "no_change", "idle_queue", "silent_agent"]

Origin = Literal["baseline", "run", "rebase", "imported", "recovered", "skipped"]
VerdictWord = Literal["keep", "interesting", "discard", "crash"]
#: What made a verdict another one than the scores say; None where it is what they say.
VerdictCause = Literal["note", "moved", "protected", "policy", "override"]
#: Which rule decided: one of `herdr.campaign.verdict`, or `baseline` and `override` where nothing was compared.
VerdictRule = Literal[
    "error", "missing", "not_finite", "protected", "floor", "no_bar", "no_change", "no_gain", "margin", "gain",
    "baseline", "override",
]  # fmt: skip
Direction = Literal["higher", "lower"]
MetricRole = Literal["primary", "guardrail", "watch"]

MeasurementPurpose = Literal["score", "earlier"]
MeasurementState = Literal["queued", "running", "done"]

LinkForm = Literal["view", "borrowed", "shared"]
TargetKind = Literal["project", "idea", "run", "candidate", "agent", "comment"]
CommentKind = Literal["note", "finding", "decision", "escalation"]

MessageKind = Literal["brief", "comment", "prompt", "warning", "wrap_up"]
MessageState = Literal["queued", "typed", "received", "unconfirmed", "failed"]

#: What the event log tells of: `subject.what`. `herdr.store.events` says what each means and carries.
EventKind = Literal[
    "agent.adopted", "agent.ended", "agent.launched", "agent.started", "agent.state",
    "anomaly.failed_run", "anomaly.failed_start", "anomaly.idle_queue", "anomaly.no_change",
    "anomaly.silent_agent",
    "candidate.added", "candidate.judged", "candidate.remeasure", "candidate.skipped",
    "comment.acked", "comment.decision", "comment.escalation", "comment.finding", "comment.note",
    "daemon.fault", "daemon.started", "daemon.stopped",
    "head.moved",
    "idea.added", "idea.edited", "idea.linked", "idea.status", "idea.unlinked",
    "launching.held", "launching.resumed",
    "measurement.done", "measurement.queued", "measurement.running",
    "message.failed", "message.queued", "message.received", "message.typed", "message.unconfirmed",
    "orchestrator.revoked", "orchestrator.token",
    "plugin.failed",
    "project.active", "project.config", "project.evaluator", "project.paused", "project.registered",
    "project.stopped",
    "run.cancel_requested", "run.cancelled", "run.failed", "run.queued", "run.requeued", "run.running",
    "run.settled", "run.succeeded", "run.timed_out",
    "sweep.cancel_requested", "sweep.cancelled", "sweep.done", "sweep.failed", "sweep.queued", "sweep.running",
    "sweep.timed_out",
]  # fmt: skip
