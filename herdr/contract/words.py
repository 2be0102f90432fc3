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
    "process_error", "blocked", "refused", "stopped",
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

TargetKind = Literal["project", "idea", "run", "candidate", "agent", "comment"]
CommentKind = Literal["note", "finding", "decision", "escalation"]

MessageKind = Literal["brief", "comment", "prompt", "warning", "wrap_up"]
MessageState = Literal["queued", "typed", "received", "unconfirmed", "failed"]
