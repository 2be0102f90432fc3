"""The closed vocabularies of a campaign, as the store spells them."""

from __future__ import annotations

from typing import Literal

IdeaStatus = Literal["seed", "proposed", "ready", "scheduled", "done", "parked", "rejected"]
RunState = Literal["queued", "running", "succeeded", "failed", "timed_out", "cancelled"]
RunEnd = Literal[
    "finished", "finding_only", "no_commits", "recovered_only", "start_failed", "timed_out", "cancelled",
    "process_error", "blocked", "lost", "stopped",
]  # fmt: skip
VerdictWord = Literal["keep", "interesting", "discard", "crash"]
Direction = Literal["higher", "lower"]
MetricRole = Literal["primary", "guardrail", "watch"]
