"""All that the author of a plugin imports: `hookimpl`, the structs hooks receive, and what a harness is.

The names here are the stable surface of herdr. Everything else may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

from herdr.contract.facts import (
    AgentInfo,
    BriefContext,
    BriefSection,
    CandidateInfo,
    ClaimAnswer,
    CommentInfo,
    DoctorCheck,
    DoctorResult,
    Escalation,
    EvaluationRequest,
    EvaluationResult,
    IdeaInfo,
    MeasurementInfo,
    OutsideIdea,
    ProjectInfo,
    RunInfo,
    SeedInfo,
    SweepInfo,
)
from herdr.contract.harness import (
    AgentState,
    Cause,
    Harness,
    HarnessBase,
    HarnessStatus,
    Launch,
    LaunchContext,
    ScreenRules,
    Seed,
    SendRules,
    Usage,
)
from herdr.errors import HerdrError

if TYPE_CHECKING:
    from herdr.harness.files import json_lines
    from herdr.harness.program import check_program
    from herdr.harness.template import CommandHarness
    from herdr.home import Home

__all__ = [
    "AgentInfo",
    "AgentState",
    "BriefContext",
    "BriefSection",
    "CandidateInfo",
    "Cause",
    "ClaimAnswer",
    "CommandHarness",
    "CommentInfo",
    "DoctorCheck",
    "DoctorResult",
    "Escalation",
    "EvaluationRequest",
    "EvaluationResult",
    "Harness",
    "HarnessBase",
    "HarnessStatus",
    "HerdrError",
    "Home",
    "IdeaInfo",
    "Launch",
    "LaunchContext",
    "MeasurementInfo",
    "OutsideIdea",
    "ProjectInfo",
    "RunInfo",
    "ScreenRules",
    "Seed",
    "SeedInfo",
    "SendRules",
    "SweepInfo",
    "Usage",
    "check_program",
    "hookimpl",
    "json_lines",
]

hookimpl = pluggy.HookimplMarker("herdr")

_OFFERED = {
    "CommandHarness": "herdr.harness.template",
    "Home": "herdr.home",
    "check_program": "herdr.harness.program",
    "json_lines": "herdr.harness.files",
}


def __getattr__(name: str) -> Any:
    """Load an offered helper when it is first asked for: the structs above must import fast."""
    if name not in _OFFERED:
        raise AttributeError(f"module 'herdr.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_OFFERED[name]), name)
