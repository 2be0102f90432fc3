"""Runs: listed, shown with all that happened in them, cancelled and requeued."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from herdr.campaign.moves import move
from herdr.campaign.text import ref
from herdr.contract.words import IdeaStatus, RunState
from herdr.errors import RefusedError
from herdr.ops.agent import request_cancel
from herdr.ops.core import PEOPLE, Context, Request, operation, project_of
from herdr.ops.look import look
from herdr.ops.run_folder import stored_folder
from herdr.ops.views import (
    AgentView,
    CandidateView,
    CommentView,
    EventView,
    MessageView,
    RunView,
    agent_view,
    candidate_views,
    comments_about,
    event_views,
    marks,
    message_view,
    run_view,
)
from herdr.ops.why import because, note, reason_of
from herdr.store.queries import unsettled_run
from herdr.store.rows import Agent, Candidate, Event, Idea, Message, Project, Run, emit, fetch, get, get_or_none
from herdr.times import parse_timestamp

OPEN = ("queued", "running")
#: What an agent leaves in its folder when it has ended.
SCREEN_FILE = "screen.txt"


class RunAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent of a run, and the file that holds its last screen, if it left one."""

    agent: AgentView
    screen: str | None


class RunCommit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit of a run, and the candidate that it is."""

    commit: str
    candidate: CandidateView


class RunShown(msgspec.Struct, frozen=True, kw_only=True):
    """A run with all that belongs to it."""

    run: RunView
    project: str
    brief: str | None
    agents: list[RunAgent]
    commits: list[RunCommit]
    comments: list[CommentView]
    messages: list[MessageView]
    events: list[EventView]


class RunCancelled(msgspec.Struct, frozen=True, kw_only=True):
    """A run that will be cancelled; `state` is the one it is still in."""

    ref: str
    state: RunState


class RunCollected(msgspec.Struct, frozen=True, kw_only=True):
    """The commits of a run that the person's repository has now, and what could not be brought there, and why."""

    commits: list[str]
    problems: list[str]


class RunRequeued(msgspec.Struct, frozen=True, kw_only=True):
    """A run that no longer counts, and its idea, which is ready again; `old` is the status that it had."""

    ref: str
    idea: str
    title: str
    old: IdeaStatus


class ListRuns(Request[list[RunView]], frozen=True, kw_only=True):
    """Which runs to list: the newest of a project, or of one idea, in these states or in any."""

    operation = "run.list"
    project: str | None = None
    idea: str | None = None
    state: tuple[RunState, ...] = ()
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class ShowRun(Request[RunShown], frozen=True, kw_only=True):
    """One run."""

    operation = "run.show"
    run: str


class CancelRun(Request[RunCancelled], frozen=True, kw_only=True):
    """A run to end, and why."""

    operation = "run.cancel"
    run: str
    reason: str | None = None


class CollectRun(Request[RunCollected], frozen=True, kw_only=True):
    """What the asking agent's run has committed so far is to come into the person's repository."""

    operation = "run.collect"


class RequeueRun(Request[RunRequeued], frozen=True, kw_only=True):
    """A run whose idea is tried again, and why."""

    operation = "run.requeue"
    run: str
    reason: str | None = None


@operation(ListRuns)
def list_runs(context: Context, request: ListRuns) -> list[RunView]:
    """List runs, the newest first."""
    if request.idea is not None:
        where, number = "idea_id = ?", look(context, Idea, request.idea).id
    else:
        where, number = "project_id = ?", project_of(context, request.project).id
    states = " ".join(request.state)
    runs = fetch(
        context.conn,
        Run,
        f"WHERE {where} AND (? = '' OR instr(?, state)) ORDER BY id DESC LIMIT ?",
        *(number, states, states, request.limit),
    )
    wanted = {run.idea_id for run in runs}
    titles = dict(
        context.conn.execute(
            f"SELECT id, title FROM ideas WHERE id IN ({marks(wanted)})",  # noqa: S608
            tuple(wanted),
        ).fetchall()
    )
    return [run_view(run, titles[run.idea_id]) for run in runs]


@operation(ShowRun)
def show(context: Context, request: ShowRun) -> RunShown:
    """Show a run with its agents, commits, comments, messages and events."""
    conn = context.conn
    run = look(context, Run, request.run)
    project = get(conn, Project, run.project_id)
    agents = fetch(conn, Agent, "WHERE run_id = ? ORDER BY id", run.id)
    messages = fetch(
        conn, Message, "WHERE agent_id IN (SELECT id FROM agents WHERE run_id = ?) ORDER BY id", run.id
    )
    events = fetch(
        conn,
        Event,
        "WHERE (target_kind = 'run' AND target_id = ?) OR (target_kind = 'agent' AND target_id IN"
        " (SELECT id FROM agents WHERE run_id = ?)) OR (target_kind = 'candidate' AND target_id IN"
        " (SELECT candidate_id FROM run_commits WHERE run_id = ?)) ORDER BY id",
        *(run.id, run.id, run.id),
    )
    return RunShown(
        run=run_view(run, get(conn, Idea, run.idea_id).title),
        project=project.name,
        brief=run.brief,
        agents=[RunAgent(agent=agent_view(agent), screen=_screen(context, agent)) for agent in agents],
        commits=_commits(context, project, run),
        comments=comments_about(conn, "run", run.id),
        messages=[message_view(conn, message) for message in messages],
        events=event_views(conn, events),
    )


def _screen(context: Context, agent: Agent) -> str | None:
    file = context.home.agent_dir(agent.id) / SCREEN_FILE
    return str(file) if file.exists() else None


def _commits(context: Context, project: Project, run: Run) -> list[RunCommit]:
    commits = context.conn.execute(
        "SELECT commit_sha, candidate_id FROM run_commits WHERE run_id = ? ORDER BY position", (run.id,)
    ).fetchall()
    candidates = fetch(
        context.conn,
        Candidate,
        "WHERE id IN (SELECT candidate_id FROM run_commits WHERE run_id = ?)",
        run.id,
    )
    views = {view.ref: view for view in candidate_views(context.conn, project, candidates)}
    return [RunCommit(commit=row[0], candidate=views[ref("candidate", row[1])]) for row in commits]


# It writes no row, and may take longer than the campaign can stand still.
@operation(CollectRun, who=frozenset({"worker"}))
def collect(context: Context, request: CollectRun) -> RunCollected:  # noqa: ARG001
    """Pin what an agent's run has committed so far in the person's repository, objects checked.

    Raises:
        RefusedError: it is no agent of a run that asks.
    """
    from herdr.repo.own import own_of

    run = get_or_none(context.conn, Run, context.agent.run_id if context.agent is not None else None)
    if run is None or run.worktree is None:
        raise RefusedError("only an agent of a run has commits to collect")
    project = get(context.conn, Project, run.project_id)
    own = own_of(context.home, Path(project.path), project.name)
    folder = stored_folder(context.conn, context.home, own, run)
    problems = folder.collect(int(parse_timestamp(run.started_at or run.queued_at).timestamp()))
    return RunCollected(commits=[one.sha for one in folder.commits()], problems=problems)


@operation(CancelRun, who=PEOPLE, writes=True)
def cancel(context: Context, request: CancelRun) -> RunCancelled:
    """Have the daemon end a run; what its agent has committed is still scored.

    Raises:
        RefusedError: it has ended already.
    """
    run = look(context, Run, request.run)
    name = ref("run", run.id)
    if run.state not in OPEN:
        raise RefusedError(f"{name} has ended already ({run.state})", fix=f"see `piloop run show {name}`")
    request_cancel(context, Run, run.id, reason_of(request.reason))
    return RunCancelled(ref=name, state=run.state)


@operation(RequeueRun, who=PEOPLE, writes=True)
def requeue(context: Context, request: RequeueRun) -> RunRequeued:
    """Have the idea of a run tried again, as if this run had been no attempt.

    Raises:
        RefusedError: the run, or another of its idea, is not finished; or the idea may not run again.
    """
    run = look(context, Run, request.run)
    reason = reason_of(request.reason)
    unsettled = unsettled_run(context.conn, run.idea_id)
    if unsettled is not None:
        name = ref("run", unsettled.id)
        raise RefusedError(
            f"{name} of {ref('idea', run.idea_id)} is not finished ({unsettled.state})",
            fix=f"wait until it is judged, or piloop run cancel {name}",
        )
    idea = get(context.conn, Idea, run.idea_id)
    if idea.status != "ready":
        move(ref("idea", idea.id), "ready", idea.status, context.role)
    Run.update(context.conn, run.id, counts=False, actor=context.actor)
    with because(context.conn, reason):
        Idea.update(context.conn, idea.id, status="ready", actor=context.actor)
    emit(
        context.conn,
        "run.requeued",
        context.actor,
        project_id=run.project_id,
        target=("run", run.id),
        payload={"reason": reason},
    )
    if reason is not None:
        note(context, ("run", run.id), run.project_id, f"requeued: {reason}", decides=True)
    return RunRequeued(ref=ref("run", run.id), idea=ref("idea", idea.id), title=idea.title, old=idea.status)
