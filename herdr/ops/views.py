"""What answers show of the store's rows: references instead of ids, and scores beside their candidates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from herdr.campaign.text import ref
from herdr.contract.harness import AgentState, Cause
from herdr.contract.words import (
    AgentRole,
    CommentKind,
    Direction,
    EventKind,
    IdeaStatus,
    MeasurementState,
    MessageKind,
    MessageState,
    MetricRole,
    Origin,
    RunEnd,
    RunState,
    VerdictCause,
    VerdictRule,
    VerdictWord,
)
from herdr.store.connection import Store
from herdr.store.rows import (
    Agent,
    Candidate,
    Comment,
    Event,
    Idea,
    Message,
    Project,
    Run,
    fetch,
    get_or_none,
)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Part of an answer; `ref` names the thing everywhere."""


class IdeaView(View, frozen=True, kw_only=True):
    """An idea; `blocked_by` are the ideas that it still waits for, `lost` those of them that no longer run."""

    ref: str
    title: str
    status: IdeaStatus
    priority: int
    hypothesis: str
    plan: str | None
    harness: str | None
    model: str | None
    base: str | None
    source: str
    provenance: str | None
    family: str | None
    attempts: int | None
    created_at: str
    blocked_by: list[str] = []
    lost: list[str] = []


class RunView(View, frozen=True, kw_only=True):
    """A run; `end` is why it ended, in one word."""

    ref: str
    idea: str
    title: str
    number: int
    state: RunState
    end: RunEnd | None
    detail: str | None
    counts: bool
    harness: str
    model: str | None
    base: str
    branch: str | None
    worktree: str | None
    failed_starts: int
    cancel_requested: bool
    queued_at: str
    started_at: str | None
    finished_at: str | None
    settled_at: str | None


class AgentView(View, frozen=True, kw_only=True):
    """An agent, one launched harness process, on a run or on a sweep."""

    ref: str
    role: AgentRole
    run: str | None
    sweep: str | None
    harness: str
    model: str | None
    state: AgentState
    cause: Cause | None
    detail: str | None
    failed_start: bool
    launched_at: str
    ready_at: str | None
    ended_at: str | None
    exit_status: int | None
    exit_signal: int | None
    tokens: int | None
    cost: float | None
    last_line: str | None


class CandidateView(View, frozen=True, kw_only=True):
    """A candidate with its score under the present evaluator.

    `gain` is by how much its primary metric beats its bar's (negative: falls short), in the metric's unit;
    `share` is the gain relative to the bar.
    """

    ref: str
    run: str | None
    parent: str | None
    bar: str | None
    commit: str
    tree: str
    subject: str
    origin: Origin
    verdict: VerdictWord | None
    cause: VerdictCause | None
    rule: VerdictRule | None
    reason: str | None
    note: str | None
    touched: list[str]
    on_trunk: bool
    is_head: bool
    scoring: MeasurementState | None
    metrics: dict[str, float]
    error: str | None
    value: float | None
    gain: float | None
    share: float | None
    created_at: str


class CommentView(View, frozen=True, kw_only=True):
    """A comment, what it is on, and what the thread is about that it belongs to."""

    ref: str
    target: str
    about: str
    kind: CommentKind
    author: str
    body: str
    priority: int | None
    acked_at: str | None
    created_at: str


class MessageView(View, frozen=True, kw_only=True):
    """Text on its way to an agent."""

    id: int
    agent: str
    kind: MessageKind
    body: str
    state: MessageState
    detail: str | None
    author: str
    queued_at: str
    typed_at: str | None
    received_at: str | None


class EventView(View, frozen=True, kw_only=True):
    """One line of the event log."""

    id: int
    at: str
    kind: EventKind
    actor: str
    project: str | None
    target: str | None
    payload: dict[str, Any]


class Primary(msgspec.Struct, frozen=True, kw_only=True):
    """The primary metric, as the stored configuration names it."""

    name: str
    direction: Direction
    role: MetricRole = "watch"

    def gain(self, value: float | None, bar: float | None) -> float | None:
        """By how much `value` is better than `bar`; None when one of them is missing.

        Args:
            value: what was measured.
            bar: what it is compared with.
        """
        if value is None or bar is None:
            return None
        return value - bar if self.direction == "higher" else bar - value


class _Metrics(msgspec.Struct, frozen=True, kw_only=True):
    metrics: list[Primary]


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate's measurement under the present evaluator."""

    state: MeasurementState
    metrics: dict[str, float]
    error: str | None


def primary_of(project: Project) -> Primary:
    """The primary metric of a project; reads only that much of its configuration, to start up fast."""
    metrics = msgspec.json.decode(project.config, type=_Metrics).metrics
    return next(metric for metric in metrics if metric.role == "primary")


def marks(values: Collection[object]) -> str:
    """As many `?` as there are values."""
    return ", ".join("?" * len(values))


def scores(conn: Store, project: Project, candidates: Collection[int]) -> dict[int, Score]:
    """The scores of candidates under the project's present evaluator, by candidate.

    Args:
        conn: the open store.
        project: the project of them all.
        candidates: their ids.
    """
    rows = conn.execute(
        "SELECT candidate_id, state, metrics, error FROM measurements WHERE evaluator_id = ?"  # noqa: S608
        f" AND purpose = 'score' AND candidate_id IN ({marks(candidates)})",
        (project.evaluator_id, *candidates),
    )
    decoder = msgspec.json.Decoder(dict[str, float])
    return {row[0]: Score(state=row[1], metrics=decoder.decode(row[2]), error=row[3]) for row in rows}


def candidate_views(conn: Store, project: Project, candidates: list[Candidate]) -> list[CandidateView]:
    """Candidates of one project with their scores and what they gained over their bars.

    Args:
        conn: the open store.
        project: the project of them all.
        candidates: their rows.
    """
    wanted = {c.id for c in candidates} | {c.bar_id for c in candidates if c.bar_id is not None}
    found = scores(conn, project, wanted)
    primary = primary_of(project)
    values = {key: score.metrics.get(primary.name) for key, score in found.items()}
    return [_candidate(project, c, found.get(c.id), primary, values) for c in candidates]


def _candidate(
    project: Project,
    candidate: Candidate,
    score: Score | None,
    primary: Primary,
    values: Mapping[int, float | None],
) -> CandidateView:
    value = values.get(candidate.id)
    bar = values.get(candidate.bar_id) if candidate.bar_id is not None else None
    gain = primary.gain(value, bar)
    return CandidateView(
        ref=ref("candidate", candidate.id),
        run=_maybe("run", candidate.run_id),
        parent=_maybe("candidate", candidate.parent_id),
        bar=_maybe("candidate", candidate.bar_id),
        commit=candidate.commit_sha,
        tree=candidate.tree_sha,
        subject=candidate.subject,
        origin=candidate.origin,
        verdict=candidate.verdict,
        cause=candidate.cause,
        rule=candidate.rule,
        reason=candidate.reason,
        note=candidate.note,
        touched=list(candidate.touched_paths),
        on_trunk=candidate.on_trunk,
        is_head=candidate.id == project.head_id,
        scoring=score.state if score else None,
        metrics=score.metrics if score else {},
        error=score.error if score else None,
        value=value,
        gain=gain,
        share=gain / abs(bar) if gain is not None and bar else None,
        created_at=candidate.created_at,
    )


def idea_view(idea: Idea, blockers: Iterable[tuple[int, IdeaStatus]] = ()) -> IdeaView:
    """An idea, with the ideas that block it and their statuses.

    Args:
        idea: its row.
        blockers: the ids and statuses of the ideas that it still waits for.
    """
    blocked_by = list(blockers)
    return IdeaView(
        ref=ref("idea", idea.id),
        title=idea.title,
        status=idea.status,
        priority=idea.priority,
        hypothesis=idea.hypothesis,
        plan=idea.plan,
        harness=idea.harness,
        model=idea.model,
        base=_maybe("candidate", idea.base_id),
        source=idea.source,
        provenance=idea.provenance,
        family=idea.family,
        attempts=idea.attempts,
        created_at=idea.created_at,
        blocked_by=[ref("idea", other) for other, _ in blocked_by],
        lost=[ref("idea", other) for other, status in blocked_by if status in ("parked", "rejected")],
    )


def run_view(run: Run, title: str) -> RunView:
    """A run, with its idea's title.

    Args:
        run: its row.
        title: the title of its idea.
    """
    return RunView(
        ref=ref("run", run.id),
        idea=ref("idea", run.idea_id),
        title=title,
        number=run.number,
        state=run.state,
        end=run.end_cause,
        detail=run.end_detail,
        counts=run.counts,
        harness=run.harness,
        model=run.model,
        base=ref("candidate", run.base_id),
        branch=run.branch,
        worktree=run.worktree,
        failed_starts=run.failed_starts,
        cancel_requested=run.cancel_requested,
        queued_at=run.queued_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        settled_at=run.settled_at,
    )


def agent_view(agent: Agent) -> AgentView:
    """An agent; nothing of its token."""
    return AgentView(
        ref=agent.name,
        role=agent.role,
        run=_maybe("run", agent.run_id),
        sweep=_maybe("sweep", agent.sweep_id),
        harness=agent.harness,
        model=agent.model,
        state=agent.state,
        cause=agent.cause,
        detail=agent.cause_detail,
        failed_start=agent.failed_start,
        launched_at=agent.launched_at,
        ready_at=agent.ready_at,
        ended_at=agent.ended_at,
        exit_status=agent.exit_status,
        exit_signal=agent.exit_signal,
        tokens=agent.tokens,
        cost=agent.cost,
        last_line=agent.last_line,
    )


def comment_view(conn: Store, comment: Comment) -> CommentView:
    """A comment, its target named as everywhere.

    Args:
        conn: the open store, to name agents.
        comment: its row.
    """
    return CommentView(
        ref=ref("comment", comment.id),
        target=target_name(conn, comment.target_kind, comment.target_id) or "",
        about=target_name(conn, comment.about_kind, comment.about_id) or "",
        kind=comment.kind,
        author=comment.actor,
        body=comment.body,
        priority=comment.priority,
        acked_at=comment.acked_at,
        created_at=comment.created_at,
    )


def message_view(conn: Store, message: Message) -> MessageView:
    """A message, its agent named as everywhere.

    Args:
        conn: the open store, to name the agent.
        message: its row.
    """
    return MessageView(
        id=message.id,
        agent=target_name(conn, "agent", message.agent_id) or "",
        kind=message.kind,
        body=message.body,
        state=message.state,
        detail=message.detail,
        author=message.actor,
        queued_at=message.queued_at,
        typed_at=message.typed_at,
        received_at=message.received_at,
    )


def event_views(conn: Store, events: list[Event]) -> list[EventView]:
    """Lines of the event log.

    Args:
        conn: the open store, to name projects and agents.
        events: their rows.
    """
    names = dict(conn.execute("SELECT id, name FROM projects").fetchall())
    return [
        EventView(
            id=event.id,
            at=event.at,
            kind=event.kind,
            actor=event.actor,
            project=names.get(event.project_id),
            target=target_name(conn, event.target_kind, event.target_id),
            payload=msgspec.json.decode(event.payload),
        )
        for event in events
    ]


def target_name(conn: Store, kind: str | None, number: int | None) -> str | None:
    """How people name what a row is about: `idea#3`, and an agent by its role, `worker#5`.

    Args:
        conn: the open store, to name agents.
        kind: the kind of thing as the store names it; None for nothing.
        number: its id.
    """
    if kind is None or number is None:
        return None
    if kind == "agent":
        agent = get_or_none(conn, Agent, number)
        return agent.name if agent else ref("agent", number)
    return ref(kind, number)


def comments_about(conn: Store, kind: str, number: int) -> list[CommentView]:
    """The comments on one thing and the replies to them, oldest first.

    Args:
        conn: the open store.
        kind: the kind of thing as the store names it.
        number: its id.
    """
    found = fetch(conn, Comment, "WHERE about_kind = ? AND about_id = ? ORDER BY id", kind, number)
    return [comment_view(conn, comment) for comment in found]


def _maybe(kind: str, number: int | None) -> str | None:
    return None if number is None else ref(kind, number)
