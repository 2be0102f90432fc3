"""Projects: listed, paused and resumed."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec

from herdr.campaign.text import ref
from herdr.contract.words import ProjectState
from herdr.ops.core import PEOPLE, Context, Request, operation, project_of, projects_of
from herdr.ops.look import text_of
from herdr.ops.status_snapshot import LiveSnapshot, StatusSnapshot, live_snapshot, status_snapshot
from herdr.store.queries import all_projects
from herdr.store.rows import Project
from herdr.times import timestamp


class ProjectView(msgspec.Struct, frozen=True, kw_only=True):
    """A project in a list."""

    ref: str
    name: str
    path: str
    state: ProjectState
    state_reason: str | None
    head: str | None
    config_error: str | None


class ListProjects(Request[list[ProjectView]], frozen=True, kw_only=True):
    """The registered projects; an agent sees its own."""

    operation = "project.list"


class ShowStatus(Request[list[StatusSnapshot]], frozen=True, kw_only=True):
    """Whose status: of one project, named or by a path inside its repo; or of all when it could be any."""

    operation = "project.status"
    project: str | None = None


class ShowLive(Request[LiveSnapshot], frozen=True, kw_only=True):
    """The project to look at from second to second, by its name or a path inside its repo."""

    operation = "project.live"
    project: str | None = None


class ResumeProject(Request[ProjectView], frozen=True, kw_only=True):
    """A project to go on with, by its name or a path inside its repo."""

    operation = "project.resume"
    project: str | None = None


class PauseProject(Request[ProjectView], frozen=True, kw_only=True):
    """A project to pause, and why."""

    operation = "project.pause"
    project: str | None = None
    reason: str | None = None


@operation(ListProjects)
def list_projects(context: Context, _request: ListProjects) -> list[ProjectView]:
    """List the registered projects; an agent sees its own."""
    if context.agent is not None:
        return [_view(project_of(context, None))]
    return [_view(project) for project in all_projects(context.conn)]


@operation(ShowStatus)
def status(context: Context, request: ShowStatus) -> list[StatusSnapshot]:
    """Say how a campaign stands: of the project meant, or of all when none is named or around."""
    return [status_snapshot(context, project) for project in projects_of(context, request.project)]


@operation(ShowLive)
def show_live(context: Context, request: ShowLive) -> LiveSnapshot:
    """Say what changes from second to second: the head, what led to it, and the live agents."""
    return live_snapshot(context.conn, project_of(context, request.project))


@operation(PauseProject, who=PEOPLE, writes=True)
def pause(context: Context, request: PauseProject) -> ProjectView:
    """Start nothing more for a project; what runs goes on to its end."""
    reason = text_of(request.reason, "a reason") if request.reason else None
    return _set_state(context, project_of(context, request.project), "paused", reason or None)


@operation(ResumeProject, who=PEOPLE, writes=True)
def resume(context: Context, request: ResumeProject) -> ProjectView:
    """Go on with a project that is paused, has stopped, or is held up because starts failed."""
    project = project_of(context, request.project)
    now = timestamp(datetime.now(timezone.utc))
    Project.update(context.conn, project.id, resumed_at=now, actor=context.actor)
    return _set_state(context, project, "active", None)


def _set_state(context: Context, project: Project, state: ProjectState, reason: str | None) -> ProjectView:
    Project.update(context.conn, project.id, state=state, state_reason=reason, actor=context.actor)
    return _view(msgspec.structs.replace(project, state=state, state_reason=reason))


def _view(project: Project) -> ProjectView:
    return ProjectView(
        ref=ref("project", project.id),
        name=project.name,
        path=project.path,
        state=project.state,
        state_reason=project.state_reason,
        head=ref("candidate", project.head_id) if project.head_id is not None else None,
        config_error=project.config_error,
    )
