"""All that the author of a plugin imports: `hookimpl`, the structs hooks receive, and what a harness is.

The names here are the stable surface of herdr. Everything else may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

from herdr import __version__
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
    from herdr.commandline.group import SETTINGS, LazyGroup, TextCommand
    from herdr.commandline.running import run_program
    from herdr.harness.files import json_lines
    from herdr.harness.program import check_program
    from herdr.harness.template import CommandHarness
    from herdr.home import Home
    from herdr.locking import open_lock, take_lock
    from herdr.ops.in_run import checkout_of_run, collect_run
    from herdr.repo.git import Completed, GitError, GitMissingError, run_git

__all__ = [
    "SETTINGS",
    "AgentInfo",
    "AgentState",
    "BriefContext",
    "BriefSection",
    "CandidateInfo",
    "Cause",
    "ClaimAnswer",
    "CommandHarness",
    "CommentInfo",
    "Completed",
    "DoctorCheck",
    "DoctorResult",
    "Escalation",
    "EvaluationRequest",
    "EvaluationResult",
    "GitError",
    "GitMissingError",
    "Harness",
    "HarnessBase",
    "HarnessStatus",
    "HerdrError",
    "Home",
    "IdeaInfo",
    "Launch",
    "LaunchContext",
    "LazyGroup",
    "MeasurementInfo",
    "OutsideIdea",
    "ProjectInfo",
    "RunInfo",
    "ScreenRules",
    "Seed",
    "SeedInfo",
    "SendRules",
    "SweepInfo",
    "TextCommand",
    "Usage",
    "__version__",
    "check_program",
    "checkout_of_run",
    "collect_run",
    "hookimpl",
    "json_lines",
    "open_lock",
    "run_git",
    "run_program",
    "take_lock",
]

hookimpl = pluggy.HookimplMarker("herdr")

_OFFERED = {
    "CommandHarness": "herdr.harness.template",
    "Completed": "herdr.repo.git",
    "GitError": "herdr.repo.git",
    "GitMissingError": "herdr.repo.git",
    "Home": "herdr.home",
    "LazyGroup": "herdr.commandline.group",
    "SETTINGS": "herdr.commandline.group",
    "TextCommand": "herdr.commandline.group",
    "check_program": "herdr.harness.program",
    "checkout_of_run": "herdr.ops.in_run",
    "collect_run": "herdr.ops.in_run",
    "json_lines": "herdr.harness.files",
    "open_lock": "herdr.locking",
    "run_git": "herdr.repo.git",
    "run_program": "herdr.commandline.running",
    "take_lock": "herdr.locking",
}


def __getattr__(name: str) -> Any:
    """Load an offered helper when it is first asked for: the structs above must import fast."""
    if name not in _OFFERED:
        raise AttributeError(f"module 'herdr.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_OFFERED[name]), name)
