"""How one campaign stands: all that `status` shows, from the store alone."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from herdr.campaign.text import ref
from herdr.contract.harness import Cause
from herdr.contract.words import Direction, ProjectState, RuntimeName
from herdr.ops.core import Context
from herdr.ops.idea.reading import idea_views
from herdr.ops.sources import Source, sources_of
from herdr.ops.stored_config import stored_config
from herdr.ops.views import (
    AgentView,
    CandidateView,
    IdeaView,
    Primary,
    agent_view,
    candidate_views,
    primary_of,
    scores,
)
from herdr.store.connection import Store
from herdr.store.queries import latest_candidates, latest_keeps, live_agents, next_message
from herdr.store.rows import Agent, Candidate, Idea, Project, Run, fetch, find, get_or_none

RECENT = 8
QUEUE = 12
#: Files whose sizes are added up before it is left at "more than": status has to be quick.
FILES = 5_000
#: Keeps of the trunk whose values are shown in one small line.
TRAJECTORY = 40


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The head, its score, and what it gained over the baseline; `share` is relative to the baseline."""

    ref: str
    subject: str
    metric: str
    direction: Direction
    metrics: dict[str, float]
    value: float | None
    baseline: str | None
    baseline_value: float | None
    gain: float | None
    share: float | None


class LiveAgent(msgspec.Struct, frozen=True, kw_only=True):
    """A live agent: since when it is in its state, what it tries, and the message that waits for it."""

    agent: AgentView
    since: str
    idea: str | None
    title: str | None
    waiting: str | None
    waiting_for: str | None


class Queued(msgspec.Struct, frozen=True, kw_only=True):
    """A ready idea, or a run that waits for its agent; see `IdeaView`."""

    ref: str
    title: str
    priority: int
    harness: str | None
    model: str | None
    blocked_by: list[str]
    lost: list[str]


class FailedStarts(msgspec.Struct, frozen=True, kw_only=True):
    """How often a harness failed to start for one cause, and what it said last."""

    harness: str
    cause: Cause
    count: int
    detail: str | None
    agent: str


class PluginFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin whose latest call failed."""

    plugin: str
    failures: int
    error: str


class StatusSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign as it is now.

    `held_since`: too many starts failed, so nothing is launched. `spent` is in US dollars. `disk` is in bytes;
    `disk_complete` says whether all of it was counted.
    """

    ref: str
    name: str
    path: str
    state: ProjectState
    state_reason: str | None
    held_since: str | None
    spent: float | None
    spend_error: str | None
    config_error: str | None
    runtime: RuntimeName
    slots: int
    head: Head | None
    agents: list[LiveAgent]
    queue: list[Queued]
    queue_length: int
    ideas: dict[str, int]
    sources: list[Source]
    inbox: int
    runs: dict[str, int]
    candidates: dict[str, int]
    recent: list[CandidateView]
    scoring: int
    failed_starts: list[FailedStarts]
    plugin_failures: list[PluginFailure]
    disk: int
    disk_complete: bool


class LiveSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What of a campaign changes from second to second; `trajectory` holds the values of the latest heads.

    `held_since`: too many starts failed, so nothing is launched.
    """

    ref: str
    name: str
    state: ProjectState
    state_reason: str | None
    held_since: str | None
    config_error: str | None
    head: Head | None
    trajectory: list[float]
    agents: list[LiveAgent]


def status_snapshot(context: Context, project: Project) -> StatusSnapshot:
    """Gather how a project's campaign stands.

    Args:
        context: who asks, and from where.
        project: whose campaign.
    """
    conn = context.conn
    config = stored_config(project)
    ideas, runs = _counts(conn, "ideas", "status", project), _counts(conn, "runs", "state", project)
    recent = latest_candidates(conn, project.id, RECENT)
    size, complete = _disk(Path(project.path, ".worktrees"))
    return StatusSnapshot(
        ref=ref("project", project.id),
        name=project.name,
        path=project.path,
        state=project.state,
        state_reason=project.state_reason,
        held_since=project.held_since,
        spent=project.spent,
        spend_error=project.spend_error,
        config_error=project.config_error,
        runtime=config.runtime,
        slots=config.roles.worker.max_concurrent,
        head=_head(conn, project, primary_of(project)),
        agents=[_live(conn, agent) for agent in live_agents(conn, project.id)],
        queue=_queue(conn, project),
        queue_length=ideas.get("ready", 0) + runs.get("queued", 0),
        ideas=ideas,
        sources=sources_of(conn, project),
        inbox=_waiting_comments(conn, project),
        runs=runs,
        candidates=_counts(conn, "candidates", "verdict", project),
        recent=candidate_views(conn, project, recent[::-1]),
        scoring=_scoring(conn, project),
        failed_starts=_failed_starts(conn, project),
        plugin_failures=_plugin_failures(conn),
        disk=size,
        disk_complete=complete,
    )


def live_snapshot(conn: Store, project: Project) -> LiveSnapshot:
    """Gather what is looked at again and again; costs the same however long the campaign.

    Args:
        conn: the open store.
        project: whose campaign.
    """
    primary = primary_of(project)
    keeps = [one.id for one in latest_keeps(conn, project.id, TRAJECTORY)][::-1]
    found = scores(conn, project, keeps)
    values = [found[one].metrics.get(primary.name) for one in keeps if one in found]
    return LiveSnapshot(
        ref=ref("project", project.id),
        name=project.name,
        state=project.state,
        state_reason=project.state_reason,
        held_since=project.held_since,
        config_error=project.config_error,
        head=_head(conn, project, primary),
        trajectory=[value for value in values if value is not None],
        agents=[_live(conn, agent) for agent in live_agents(conn, project.id)],
    )


def _head(conn: Store, project: Project, primary: Primary) -> Head | None:
    head = get_or_none(conn, Candidate, project.head_id)
    if head is None:
        return None
    baseline = find(conn, Candidate, "WHERE project_id = ? AND origin = 'baseline' ORDER BY id", project.id)
    found = scores(conn, project, [head.id, *([baseline.id] if baseline else [])])
    metrics = found[head.id].metrics if head.id in found else {}
    value = metrics.get(primary.name)
    before = found[baseline.id].metrics.get(primary.name) if baseline and baseline.id in found else None
    gain = primary.gain(value, before)
    return Head(
        ref=ref("candidate", head.id),
        subject=head.subject,
        metric=primary.name,
        direction=primary.direction,
        metrics=metrics,
        value=value,
        baseline=ref("candidate", baseline.id) if baseline else None,
        baseline_value=before,
        gain=gain,
        share=gain / abs(before) if gain is not None and before else None,
    )


def _live(conn: Store, agent: Agent) -> LiveAgent:
    since = conn.execute(
        "SELECT max(at) FROM events WHERE target_kind = 'agent' AND target_id = ? AND kind = 'agent.state'",
        (agent.id,),
    ).fetchone()[0]
    idea = find(conn, Idea, "JOIN runs r ON r.idea_id = ideas.id WHERE r.id = ?", agent.run_id)
    message = next_message(conn, agent.id)
    return LiveAgent(
        agent=agent_view(agent),
        since=since or agent.launched_at,
        idea=ref("idea", idea.id) if idea else None,
        title=idea.title if idea else None,
        waiting=message.body if message else None,
        waiting_for=message.detail if message else None,
    )


def _queue(conn: Store, project: Project) -> list[Queued]:
    """The first of what waits: runs for their agents, then ideas for a slot."""
    runs = fetch(conn, Run, "WHERE project_id = ? AND state = 'queued' ORDER BY id LIMIT ?", project.id, QUEUE)
    among = ", ".join(str(run.idea_id) for run in runs)
    of_runs = {idea.id: idea for idea in fetch(conn, Idea, f"WHERE id IN ({among})")}
    ready = fetch(
        conn,
        Idea,
        "WHERE project_id = ? AND status = 'ready' ORDER BY priority, id LIMIT ?",
        *(project.id, QUEUE - len(runs)),
    )
    waiting = [_queued_run(run, of_runs[run.idea_id]) for run in runs if run.idea_id in of_runs]
    return waiting + [_queued_idea(view) for view in idea_views(conn, ready)]


def _queued_run(run: Run, idea: Idea) -> Queued:
    return Queued(
        ref=ref("run", run.id),
        title=idea.title,
        priority=idea.priority,
        harness=idea.harness,
        model=idea.model,
        blocked_by=[],
        lost=[],
    )


def _queued_idea(idea: IdeaView) -> Queued:
    return Queued(
        ref=idea.ref,
        title=idea.title,
        priority=idea.priority,
        harness=idea.harness,
        model=idea.model,
        blocked_by=idea.blocked_by,
        lost=idea.lost,
    )


def _waiting_comments(conn: Store, project: Project) -> int:
    """How many comments in the inbox nobody has acknowledged."""
    count: int = conn.execute(
        "SELECT count(*) FROM comments WHERE project_id = ? AND priority IS NOT NULL AND acked_at IS NULL",
        (project.id,),
    ).fetchone()[0]
    return count


def _counts(conn: Store, table: str, column: str, project: Project) -> dict[str, int]:
    counted = f"SELECT {column}, count(*) FROM {table} WHERE project_id = ? GROUP BY {column}"  # noqa: S608
    return {row[0] or "open": row[1] for row in conn.execute(counted, (project.id,))}


def _scoring(conn: Store, project: Project) -> int:
    count: int = conn.execute(
        "SELECT count(*) FROM measurements m JOIN candidates c ON c.id = m.candidate_id"
        " WHERE c.project_id = ? AND m.state <> 'done'",
        (project.id,),
    ).fetchone()[0]
    return count


def _failed_starts(conn: Store, project: Project) -> list[FailedStarts]:
    """The failed starts of the last day, by harness and cause, with the latest of each."""
    rows = conn.execute(
        "SELECT harness, coalesce(cause, 'unknown'), count(*), cause_detail, role || '#' || max(id) FROM agents"
        " WHERE project_id = ? AND failed_start = 1"
        " AND ended_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day')"
        " GROUP BY 1, 2 ORDER BY 3 DESC",
        (project.id,),
    )
    return [FailedStarts(harness=row[0], cause=row[1], count=row[2], detail=row[3], agent=row[4]) for row in rows]


def _plugin_failures(conn: Store) -> list[PluginFailure]:
    rows = conn.execute("SELECT plugin, failures, error FROM plugin_cursors WHERE failures > 0 ORDER BY plugin")
    return [PluginFailure(plugin=row[0], failures=row[1], error=row[2] or "") for row in rows]


def _disk(folder: Path) -> tuple[int, bool]:
    """Bytes in the files of a folder; False when there are too many to count them all now."""
    total = seen = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            if seen == FILES:
                return total, False
            seen += 1
            try:
                total += os.lstat(os.path.join(parent, name)).st_size  # noqa: PTH118 - thousands of them
            except OSError:
                continue
    return total, True
