"""The columns of each table as keywords of `insert` and `update`, so that mypy knows them and their words.

`...Changes` are the columns that may change or that the schema fills; `New...` adds what a new row has to say.
What has to be said and may change later stands among the changes: the schema refuses a row without it.
`actor`, who signs the change, is a keyword of its own.
`tests/store/test_words.py` holds them equal to the schema and to the rows.
"""

from __future__ import annotations

from typing import TypedDict

from herdr.contract.harness import AgentState, Cause
from herdr.contract.words import (
    AgentRole,
    AnomalyKind,
    CommentKind,
    IdeaStatus,
    MeasurementPurpose,
    MeasurementState,
    MessageKind,
    MessageState,
    Origin,
    ProjectState,
    RunEnd,
    RunState,
    RuntimeName,
    SweepRole,
    SweepState,
    SweepTrigger,
    TargetKind,
    VerdictCause,
    VerdictRule,
    VerdictWord,
)


class ProjectChanges(TypedDict, total=False):
    """Columns of `projects` that may change, or that have a default."""

    name: str
    path: str
    state: ProjectState
    state_reason: str | None
    stopped_at: str | None
    stopped_by: str
    resumed_at: str | None
    held_since: str | None
    spent: float | None
    spent_at: str | None
    spend_error: str | None
    config: str
    config_error: str | None
    evaluator_id: int | None
    head_id: int | None
    created_at: str
    updated_at: str


class EvaluatorChanges(TypedDict, total=False):
    """Columns of `evaluators` that may change, or that have a default."""

    commit_sha: str
    definition: str
    created_at: str


class NewEvaluator(EvaluatorChanges):
    """What a new row of `evaluators` must say."""

    project_id: int
    key: str


class IdeaChanges(TypedDict, total=False):
    """Columns of `ideas` that may change, or that have a default."""

    title: str
    hypothesis: str
    plan: str | None
    status: IdeaStatus
    priority: int
    harness: str | None
    model: str | None
    base_id: int | None
    provenance: str | None
    family: str | None
    attempts: int | None
    outside_key: str | None
    sweep_id: int | None
    sweeps: int
    created_at: str
    updated_at: str


class NewIdea(IdeaChanges):
    """What a new row of `ideas` must say."""

    project_id: int
    source: str


class RunChanges(TypedDict, total=False):
    """Columns of `runs` that may change, or that have a default."""

    state: RunState
    end_cause: RunEnd | None
    end_detail: str | None
    counts: bool
    is_branch: bool
    model: str | None
    branch: str | None
    worktree: str | None
    brief: str | None
    failed_starts: int
    cancel_requested: bool
    queued_at: str
    started_at: str | None
    finished_at: str | None
    settled_at: str | None


class NewRun(RunChanges):
    """What a new row of `runs` must say."""

    project_id: int
    idea_id: int
    number: int
    base_id: int
    harness: str


class SweepChanges(TypedDict, total=False):
    """Columns of `sweeps` that may change, or that have a default."""

    ideas: int
    state: SweepState
    end_detail: str | None
    base_id: int
    model: str | None
    worktree: str | None
    brief: str | None
    failed_starts: int
    cancel_requested: bool
    queued_at: str
    started_at: str | None
    finished_at: str | None


class NewSweep(SweepChanges):
    """What a new row of `sweeps` must say."""

    project_id: int
    role: SweepRole
    trigger: SweepTrigger
    harness: str


class AnomalyChanges(TypedDict, total=False):
    """Columns of `anomalies` that may change, or that have a default."""

    sweep_id: int | None
    at: str


class NewAnomaly(AnomalyChanges):
    """What a new row of `anomalies` must say."""

    project_id: int
    kind: AnomalyKind
    target_kind: str
    target_id: int
    detail: str
    incident: bool


class AgentChanges(TypedDict, total=False):
    """Columns of `agents` that may change, or that have a default."""

    run_id: int | None
    sweep_id: int | None
    role: AgentRole
    model: str | None
    runtime: RuntimeName
    state: AgentState
    cause: Cause | None
    cause_detail: str | None
    failed_start: bool
    briefed_to: int
    session: str | None
    window: str | None
    pane: str | None
    pid: int | None
    launched_at: str
    started_at: str | None
    ready_at: str | None
    warned_at: str | None
    ended_at: str | None
    exit_status: int | None
    exit_signal: int | None
    tokens_in: int | None
    tokens_out: int | None
    tokens_cached: int | None
    cost: float | None
    last_line: str | None


class NewAgent(AgentChanges):
    """What a new row of `agents` must say."""

    project_id: int
    harness: str
    session_id: str
    token_hash: str


class CandidateChanges(TypedDict, total=False):
    """Columns of `candidates` that may change, or that have a default."""

    run_id: int | None
    parent_id: int | None
    origin: Origin
    verdict: VerdictWord | None
    cause: VerdictCause | None
    rule: VerdictRule | None
    reason: str | None
    note: str | None
    touched: str | None
    bar_id: int | None
    on_trunk: bool
    judged_at: str | None
    judged_by: str | None
    judge_again: bool
    created_at: str
    held: bool


class NewCandidate(CandidateChanges):
    """What a new row of `candidates` must say."""

    project_id: int
    tree_sha: str
    commit_sha: str
    subject: str


class MeasurementChanges(TypedDict, total=False):
    """Columns of `measurements` that may change, or that have a default."""

    purpose: MeasurementPurpose
    state: MeasurementState
    metrics: str
    error: str | None
    seconds: float | None
    queued_at: str
    started_at: str | None
    finished_at: str | None


class NewMeasurement(MeasurementChanges):
    """What a new row of `measurements` must say."""

    candidate_id: int
    evaluator_id: int


class CommentChanges(TypedDict, total=False):
    """Columns of `comments` that may change, or that have a default."""

    priority: int | None
    about_kind: TargetKind | None
    about_id: int | None
    acked_at: str | None
    acked_by: str | None
    created_at: str


class NewComment(CommentChanges):
    """What a new row of `comments` must say."""

    project_id: int
    target_kind: TargetKind
    target_id: int
    kind: CommentKind
    body: str


class MessageChanges(TypedDict, total=False):
    """Columns of `messages` that may change, or that have a default."""

    comment_id: int | None
    state: MessageState
    detail: str | None
    queued_at: str
    typed_at: str | None
    received_at: str | None


class NewMessage(MessageChanges):
    """What a new row of `messages` must say."""

    agent_id: int
    kind: MessageKind
    body: str
