"""What hooks receive and answer: projects, ideas, runs, candidates, and what is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from herdr.contract import Struct
from herdr.contract.harness import AgentState, Cause
from herdr.contract.words import (
    AgentRole,
    CommentKind,
    Direction,
    IdeaStatus,
    LinkForm,
    MetricRole,
    Origin,
    RunEnd,
    RunState,
    SweepRole,
    SweepTrigger,
    VerdictWord,
)


class ProjectInfo(Struct, frozen=True, kw_only=True):
    """A registered project; `settings` is the plugin's own table of `[plugins.<name>]` in piloop.toml."""

    id: int
    name: str
    path: Path
    settings: Mapping[str, object] = {}


class IdeaInfo(Struct, frozen=True, kw_only=True):
    """One thing to test; `key` names it where it came from, for ideas a plugin collected."""

    id: int
    project_id: int
    title: str
    hypothesis: str
    plan: str | None
    status: IdeaStatus
    priority: int
    source: str
    family: str | None = None
    key: str | None = None


class RunInfo(Struct, frozen=True, kw_only=True):
    """One attempt at an idea."""

    id: int
    project_id: int
    idea_id: int
    number: int
    state: RunState
    harness: str
    model: str | None
    branch: str | None
    worktree: Path | None
    end: RunEnd | None = None
    end_detail: str | None = None


class AgentInfo(Struct, frozen=True, kw_only=True):
    """One launched harness process. Times are ISO 8601 in UTC."""

    id: int
    name: str
    project_id: int
    run_id: int | None
    role: AgentRole
    harness: str
    state: AgentState
    cause: Cause | None
    started_at: str | None
    ended_at: str | None


class CandidateInfo(Struct, frozen=True, kw_only=True):
    """A distinct state of the code; `tree` and `commit` are git object ids."""

    id: int
    project_id: int
    run_id: int | None
    commit: str
    tree: str
    subject: str
    origin: Origin
    verdict: VerdictWord | None
    reason: str | None


class MeasurementInfo(Struct, frozen=True, kw_only=True):
    """One scoring of a candidate; `error` is set when it crashed, and `metrics` then holds what was printed."""

    id: int
    candidate_id: int
    evaluator_id: int
    metrics: Mapping[str, float]
    error: str | None
    seconds: float | None


class CommentInfo(Struct, frozen=True, kw_only=True):
    """Something somebody said; `author` is an actor such as `human` or `worker#12`."""

    id: int
    target: str
    kind: CommentKind
    author: str
    body: str
    created_at: str


class Escalation(Struct, frozen=True, kw_only=True):
    """Something a person must look at: what happened, the evidence, and the one command that helps."""

    id: int
    project_id: int | None
    target: str
    body: str
    priority: int


class OutsideIdea(Struct, frozen=True, kw_only=True):
    """An idea from outside; `key` is unique where it comes from and makes collecting idempotent."""

    key: str
    title: str
    hypothesis: str
    plan: str | None = None
    priority: int = 2
    source: str = "forge"


class ClaimAnswer(Struct, frozen=True, kw_only=True):
    """Whether a run may start, and why not."""

    allowed: bool
    reason: str = ""


class EvaluationRequest(Struct, frozen=True, kw_only=True):
    """One scoring to do: `argv` in `worktree`, whose protected files are already the evaluator's own."""

    candidate_id: int
    project: ProjectInfo
    worktree: Path
    argv: Sequence[str]
    env: Mapping[str, str]
    timeout: float
    log_dir: Path
    metrics: Sequence[str]


class EvaluationResult(Struct, frozen=True, kw_only=True):
    """What a scoring gave; `error` is None when every metric is there and finite. Time in seconds."""

    metrics: Mapping[str, float]
    error: str | None
    seconds: float


class BriefSection(Struct, frozen=True, kw_only=True):
    """A titled part of a brief, in Markdown."""

    title: str
    body: str


class SeedInfo(Struct, frozen=True, kw_only=True):
    """A seed with what it points to."""

    id: int
    title: str
    hunch: str
    pointers: str
    source: str


class SweepInfo(Struct, frozen=True, kw_only=True):
    """What an agent without a run is there for: research on seeds or for new ideas, or a watchdog's look.

    `trigger` is `seed`, `low_water`, `incident`, `interval` or `closing`; `ideas` is how many ideas of its own a
    research agent may file. `incidents` is what the watchdog is told of, one line each, oldest first.
    """

    id: int
    project_id: int
    role: SweepRole
    trigger: SweepTrigger
    ideas: int = 0
    seeds: Sequence[SeedInfo] = ()
    incidents: Sequence[str] = ()


class BriefContext(Struct, frozen=True, kw_only=True):
    """All that a brief is composed from; `comments` are oldest first, `recent` newest first.

    An agent has a run with its idea, or else a sweep; `pack` is what a sweep reads of the campaign so far, as
    Markdown in which nothing but herdr's own words stands unquoted.
    """

    project: ProjectInfo
    agent: str
    role: AgentRole
    run: RunInfo | None = None
    idea: IdeaInfo | None = None
    sweep: SweepInfo | None = None
    pack: str = ""
    worktree: Path
    workspace: Path | None
    base: CandidateInfo
    base_metrics: Mapping[str, float]
    bar: CandidateInfo
    metrics: Sequence[tuple[str, Direction, MetricRole]]
    """(name, direction, role) of each metric, the primary first."""
    recent: Sequence[tuple[CandidateInfo, Mapping[str, float]]]
    comments: Sequence[CommentInfo]
    protected: Sequence[str]
    repo_brief: str
    addendum: str
    timeout: float
    max_bytes: int = 120_000
    linked: Sequence[tuple[str, LinkForm]] = ()
    """(path, form) of each `link` path: `view` is the agent's own, `borrowed` a person's, `shared` for all."""


class DoctorResult(Struct, frozen=True, kw_only=True):
    """The outcome of one check; `fix` is a command or a sentence when `status` is not ok."""

    status: Literal["ok", "warning", "error"]
    message: str
    fix: str = ""


class DoctorCheck(Struct, frozen=True, kw_only=True):
    """A named check of `herdr doctor`; `run` is called with the project root, or None outside a project."""

    name: str
    run: Callable[[Path | None], Sequence[DoctorResult]]
