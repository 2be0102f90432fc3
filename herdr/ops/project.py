"""Projects: listed, paused and resumed."""

from __future__ import annotations

import msgspec

from herdr.campaign.text import ref
from herdr.ops.core import PEOPLE, Context, Request, operation, project_of, projects_of
from herdr.ops.look import text_of
from herdr.ops.status_snapshot import Live, StatusSnapshot, live, standing
from herdr.store.rows import Project, fetch, update


class Which(Request, frozen=True, kw_only=True):
    """One project, by its name or a path inside its repo."""

    project: str | None = None


class Pause(Request, frozen=True, kw_only=True):
    """A project to pause, and why."""

    project: str | None = None
    reason: str | None = None


class Nothing(Request, frozen=True, kw_only=True):
    """No arguments."""


class Brief(msgspec.Struct, frozen=True, kw_only=True):
    """A project in a list."""

    ref: str
    name: str
    path: str
    state: str
    state_reason: str | None
    head: str | None
    config_error: str | None


@operation("project.list", Nothing)
def list_projects(context: Context, _request: Nothing) -> list[Brief]:
    """List the registered projects; an agent sees its own."""
    if context.agent is not None:
        return [_brief(project_of(context, None))]
    return [_brief(project) for project in fetch(context.conn, Project, "ORDER BY name")]


@operation("project.status", Which)
def status(context: Context, request: Which) -> list[StatusSnapshot]:
    """Say how a campaign stands: of the project meant, or of all when none is named or around."""
    return [standing(context, project) for project in projects_of(context, request.project)]


@operation("project.live", Which)
def show_live(context: Context, request: Which) -> Live:
    """Say what changes from second to second: the head, what led to it, and the live agents."""
    return live(context.conn, project_of(context, request.project))


@operation("project.pause", Pause, who=PEOPLE, writes=True)
def pause(context: Context, request: Pause) -> Brief:
    """Start nothing more for a project; what runs goes on to its end."""
    reason = text_of(request.reason, "a reason") if request.reason else None
    return _set_state(context, project_of(context, request.project), "paused", reason or None)


@operation("project.resume", Which, who=PEOPLE, writes=True)
def resume(context: Context, request: Which) -> Brief:
    """Go on with a project that is paused, has stopped, or is held up because starts failed."""
    project = project_of(context, request.project)
    now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    context.conn.execute(f"UPDATE projects SET resumed_at = {now} WHERE id = ?", (project.id,))  # noqa: S608
    return _set_state(context, project, "active", None)


def _set_state(context: Context, project: Project, state: str, reason: str | None) -> Brief:
    values = {"state": state, "state_reason": reason, "actor": context.actor}
    update(context.conn, Project, project.id, values)
    return _brief(msgspec.structs.replace(project, state=state, state_reason=reason))


def _brief(project: Project) -> Brief:
    return Brief(
        ref=ref("project", project.id),
        name=project.name,
        path=project.path,
        state=project.state,
        state_reason=project.state_reason,
        head=ref("candidate", project.head_id) if project.head_id is not None else None,
        config_error=project.config_error,
    )
