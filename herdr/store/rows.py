"""The rows of the store as frozen structs: a field per column, under the column's own name."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar

import msgspec

from herdr.contract.harness import AgentState, Cause
from herdr.contract.words import (
    AgentRole,
    AnomalyKind,
    CommentKind,
    EventKind,
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

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from herdr.store.columns import (
        AgentChanges,
        AnomalyChanges,
        CandidateChanges,
        CommentChanges,
        EvaluatorChanges,
        IdeaChanges,
        MeasurementChanges,
        MessageChanges,
        NewAgent,
        NewAnomaly,
        NewCandidate,
        NewComment,
        NewEvaluator,
        NewIdea,
        NewMeasurement,
        NewMessage,
        NewRun,
        NewSweep,
        ProjectChanges,
        RunChanges,
        SweepChanges,
    )

T = TypeVar("T", bound="Row")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table that the subclass names.

    `insert` and `update` of each table take its columns as keywords (`values`), whose names and types mypy knows;
    `actor` is who signs the change, such as `human`, `daemon` or `worker#3`; `row_id` is the id of the row.
    """

    table: ClassVar[str]
    id: int


class Project(Row, frozen=True, kw_only=True):
    """A registered repo; `config` is the last good piloop.toml as JSON."""

    table: ClassVar[str] = "projects"
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

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[ProjectChanges]) -> int:
        """Enter a project; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[ProjectChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})


class Evaluator(Row, frozen=True, kw_only=True):
    """What makes two scores comparable, and the commit that the protected files are taken from."""

    table: ClassVar[str] = "evaluators"
    project_id: int
    key: str
    commit_sha: str
    definition: str

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewEvaluator]) -> int:
        """Enter an evaluator; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[EvaluatorChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})


class Idea(Row, frozen=True, kw_only=True):
    """One thing to test."""

    table: ClassVar[str] = "ideas"
    project_id: int
    title: str
    hypothesis: str
    plan: str | None
    status: IdeaStatus
    priority: int
    harness: str | None
    model: str | None
    base_id: int | None
    source: str
    provenance: str | None
    family: str | None
    attempts: int | None
    outside_key: str | None
    sweep_id: int | None
    sweeps: int
    created_at: str

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewIdea]) -> int:
        """Enter an idea; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[IdeaChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})


class Run(Row, frozen=True, kw_only=True):
    """One attempt at an idea."""

    table: ClassVar[str] = "runs"
    project_id: int
    idea_id: int
    number: int
    state: RunState
    end_cause: RunEnd | None
    end_detail: str | None
    counts: bool
    base_id: int
    is_branch: bool
    harness: str
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

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewRun]) -> int:
        """Enter a run; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[RunChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})


class Sweep(Row, frozen=True, kw_only=True):
    """Work of a research or watchdog agent, which tries no idea; `ideas` is how many it may file of its own."""

    table: ClassVar[str] = "sweeps"
    project_id: int
    role: SweepRole
    trigger: SweepTrigger
    ideas: int
    state: SweepState
    end_detail: str | None
    base_id: int
    harness: str
    model: str | None
    worktree: str | None
    brief: str | None
    failed_starts: int
    cancel_requested: bool
    queued_at: str
    started_at: str | None
    finished_at: str | None

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewSweep]) -> int:
        """Enter a sweep; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[SweepChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})


class Anomaly(Row, frozen=True, kw_only=True):
    """Something that the watchdog is told of; an incident asks for a sweep of its own."""

    table: ClassVar[str] = "anomalies"
    project_id: int
    kind: AnomalyKind
    target_kind: str
    target_id: int
    detail: str
    incident: bool
    sweep_id: int | None
    at: str

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewAnomaly]) -> int:
        """Enter an anomaly; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[AnomalyChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})


class Agent(Row, frozen=True, kw_only=True):
    """One launched harness process; it works on a run or on a sweep."""

    table: ClassVar[str] = "agents"
    project_id: int
    run_id: int | None
    sweep_id: int | None
    role: AgentRole
    harness: str
    model: str | None
    runtime: RuntimeName
    state: AgentState
    cause: Cause | None
    cause_detail: str | None
    failed_start: bool
    session_id: str
    token_hash: str
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

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewAgent]) -> int:
        """Enter an agent; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[AgentChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})

    @property
    def name(self) -> str:
        """How it signs, and what people call it: `worker#12`."""
        return f"{self.role}#{self.id}"

    @property
    def tokens(self) -> int | None:
        """All tokens it used, or None when its harness does not tell."""
        counts = [n for n in (self.tokens_in, self.tokens_out, self.tokens_cached) if n is not None]
        return sum(counts) if counts else None


class Candidate(Row, frozen=True, kw_only=True):
    """A distinct state of the code."""

    table: ClassVar[str] = "candidates"
    project_id: int
    run_id: int | None
    parent_id: int | None
    tree_sha: str
    commit_sha: str
    subject: str
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

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewCandidate]) -> int:
        """Enter a candidate; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[CandidateChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})

    @property
    def touched_paths(self) -> tuple[str, ...]:
        """The protected files it changed."""
        return tuple(msgspec.json.decode(self.touched, type=list[str])) if self.touched else ()


class Measurement(Row, frozen=True, kw_only=True):
    """One scoring of a candidate."""

    table: ClassVar[str] = "measurements"
    candidate_id: int
    evaluator_id: int
    purpose: MeasurementPurpose
    state: MeasurementState
    metrics: str
    error: str | None
    seconds: float | None

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewMeasurement]) -> int:
        """Enter a measurement; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[MeasurementChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})

    @property
    def values(self) -> dict[str, float]:
        """The metrics that it printed."""
        return msgspec.json.decode(self.metrics, type=dict[str, float])


class Comment(Row, frozen=True, kw_only=True):
    """Something somebody said; `actor` is its author."""

    table: ClassVar[str] = "comments"
    project_id: int
    target_kind: TargetKind
    target_id: int
    kind: CommentKind
    body: str
    priority: int | None
    about_kind: TargetKind | None
    about_id: int | None
    acked_at: str | None
    acked_by: str | None
    actor: str
    created_at: str

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewComment]) -> int:
        """Enter a comment; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(cls, conn: sqlite3.Connection, row_id: int, /, **values: Unpack[CommentChanges]) -> None:
        """Set columns of one row; its actor is its author, and stays."""
        _update(conn, cls, row_id, values)


class Message(Row, frozen=True, kw_only=True):
    """Text on its way to an agent."""

    table: ClassVar[str] = "messages"
    agent_id: int
    kind: MessageKind
    comment_id: int | None
    body: str
    state: MessageState
    detail: str | None
    queued_at: str
    typed_at: str | None
    received_at: str | None
    actor: str

    @classmethod
    def insert(cls, conn: sqlite3.Connection, /, *, actor: str, **values: Unpack[NewMessage]) -> int:
        """Enter a message; return its id."""
        return _insert(conn, cls, {**values, "actor": actor})

    @classmethod
    def update(
        cls, conn: sqlite3.Connection, row_id: int, /, *, actor: str, **values: Unpack[MessageChanges]
    ) -> None:
        """Set columns of one row."""
        _update(conn, cls, row_id, {**values, "actor": actor})


class Event(Row, frozen=True, kw_only=True):
    """One line of the event log; `payload` is JSON."""

    table: ClassVar[str] = "events"
    at: str
    kind: EventKind
    actor: str
    project_id: int | None
    target_kind: str | None
    target_id: int | None
    payload: str


@functools.cache
def _columns(kind: type[Row]) -> str:
    return ", ".join(f"{kind.table}.{name}" for name in kind.__struct_fields__)


def _build(kind: type[T], row: sqlite3.Row) -> T:
    return msgspec.convert(dict(row), kind, strict=False)


def fetch(conn: sqlite3.Connection, kind: type[T], rest: str = "", *args: object) -> list[T]:
    """Read rows of one table: `fetch(conn, Run, "WHERE state = ? ORDER BY id", "queued")`.

    `rest` follows `FROM <table>` and may join others; only the table's own columns are read.

    Args:
        conn: the store.
        kind: the struct of the table's rows.
        rest: what follows `FROM <table>` in the statement.
        *args: the values of its `?`.
    """
    rows = conn.execute(f"SELECT {_columns(kind)} FROM {kind.table} {rest}", args)  # noqa: S608
    return [_build(kind, row) for row in rows]


def find(conn: sqlite3.Connection, kind: type[T], rest: str, *args: object) -> T | None:
    """Read the first such row, or None.

    Args:
        conn: the store.
        kind: the struct of the table's rows.
        rest: what follows `FROM <table>` in the statement, without a limit.
        *args: the values of its `?`.
    """
    found = fetch(conn, kind, f"{rest} LIMIT 1", *args)
    return found[0] if found else None


def get_or_none(conn: sqlite3.Connection, kind: type[T], row_id: int | None) -> T | None:
    """Read the row of this id, or None where there is none.

    Args:
        conn: the store.
        kind: the struct of the table's rows.
        row_id: the id; None, of a column that is not set, gives None.
    """
    return find(conn, kind, "WHERE id = ?", row_id)


def get(conn: sqlite3.Connection, kind: type[T], row_id: int) -> T:
    """Read a row that must be there.

    Args:
        conn: the store.
        kind: the struct of the table's rows.
        row_id: the id.

    Raises:
        LookupError: no row has this id.
    """
    found = get_or_none(conn, kind, row_id)
    if found is None:
        raise LookupError(f"no {kind.table} row {row_id}")
    return found


def _insert(conn: sqlite3.Connection, kind: type[Row], values: Mapping[str, object]) -> int:
    names = ", ".join(values)
    marks = ", ".join("?" for _ in values)
    done = conn.execute(f"INSERT INTO {kind.table} ({names}) VALUES ({marks})", tuple(values.values()))  # noqa: S608
    assert done.lastrowid is not None
    return done.lastrowid


def _update(conn: sqlite3.Connection, kind: type[Row], row_id: int, values: Mapping[str, object]) -> None:
    sets = ", ".join(f"{name} = ?" for name in values)
    conn.execute(f"UPDATE {kind.table} SET {sets} WHERE id = ?", (*values.values(), row_id))  # noqa: S608


def emit(
    conn: sqlite3.Connection,
    kind: EventKind,
    actor: str,
    *,
    project_id: int | None = None,
    target: tuple[str, int] | None = None,
    payload: Mapping[str, object] | None = None,
) -> None:
    """Log what has no row of its own to change.

    Args:
        conn: the store.
        kind: which event.
        actor: who signs it, such as `daemon`.
        project_id: the project that it is about; None for none.
        target: what it is about, such as `("run", 7)`; None for nothing that has a row.
        payload: what else there is to say, as `store/events.py` lists it.
    """
    target_kind, target_id = target or (None, None)
    conn.execute(
        "INSERT INTO emit (kind, actor, project_id, target_kind, target_id, payload) VALUES (?, ?, ?, ?, ?, ?)",
        (kind, actor, project_id, target_kind, target_id, msgspec.json.encode(payload or {}).decode()),
    )
