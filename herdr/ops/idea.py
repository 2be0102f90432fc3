"""Ideas: filed, listed and shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec

from herdr.campaign.links import Link, blocked_by, would_cycle
from herdr.campaign.text import ref
from herdr.campaign.words import IdeaStatus
from herdr.errors import RefusedError, UsageError
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.look import look, text_of, title_of
from herdr.ops.views import CommentView, IdeaView, RunView, comments_on, idea_view, run_view
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Idea, Project, Run, fetch, find, get, insert

FILERS = frozenset({"human", "orchestrator", "research", "lead"})


class Add(Request, frozen=True, kw_only=True):
    """An idea to file; `after` and `supersedes` name other ideas, `base` a candidate to start from."""

    title: str
    project: str | None = None
    hypothesis: str = ""
    plan: str | None = None
    provenance: str | None = None
    family: str | None = None
    harness: str | None = None
    model: str | None = None
    base: str | None = None
    priority: Annotated[int, msgspec.Meta(ge=0, le=4)] = 2
    attempts: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    proposed: bool = False
    after: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


class Filed(msgspec.Struct, frozen=True, kw_only=True):
    """The new idea."""

    ref: str
    title: str
    status: str
    project: str


class Which(Request, frozen=True, kw_only=True):
    """One idea."""

    idea: str


class ListThem(Request, frozen=True, kw_only=True):
    """Which ideas to list: of one project, in these states or in any."""

    project: str | None = None
    status: tuple[IdeaStatus, ...] = ()


class Links(msgspec.Struct, frozen=True, kw_only=True):
    """What an idea is linked with."""

    after: list[str]
    before: list[str]
    supersedes: list[str]
    superseded_by: list[str]


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """An idea with all that belongs to it."""

    idea: IdeaView
    project: str
    links: Links
    runs: list[RunView]
    comments: list[CommentView]


@operation("idea.add", Add, who=FILERS, writes=True)
def add(context: Context, request: Add) -> Filed:
    """File an idea.

    Raises:
        UsageError: something that it names does not exist.
        RefusedError: there is an idea of this title, or its links would close a circle.
    """
    project = project_of(context, request.project)
    title = title_of(request.title)
    known = find(context.conn, Idea, "WHERE project_id = ? AND title = ?", project.id, title)
    if known is not None:
        raise RefusedError(
            f"{ref('idea', known.id)} has this title already ({known.status})",
            fix=f"piloop idea show {ref('idea', known.id)}, or choose another title",
        )
    if request.harness is not None:
        _check_harness(project, request.harness)
    status = "proposed" if request.proposed else "ready"
    values = {
        "project_id": project.id,
        "title": title,
        "hypothesis": text_of(request.hypothesis, "a hypothesis"),
        "plan": _optional(request.plan, "a plan"),
        "provenance": _optional(request.provenance, "a provenance"),
        "family": _optional(request.family, "a family"),
        "harness": request.harness,
        "model": _optional(request.model, "a model"),
        "base_id": _base(context, project, request.base),
        "priority": request.priority,
        "attempts": request.attempts,
        "status": status,
        "source": context.actor,
        "actor": context.actor,
    }
    idea_id = insert(context.conn, Idea, values)
    _link(context, project, idea_id, request)
    return Filed(ref=ref("idea", idea_id), title=title, status=status, project=project.name)


@operation("idea.list", ListThem)
def list_ideas(context: Context, request: ListThem) -> list[IdeaView]:
    """List the ideas of a project: the most urgent first, the finished ones last."""
    project = project_of(context, request.project)
    ideas = fetch(
        context.conn,
        Idea,
        "WHERE project_id = ? ORDER BY status IN ('done', 'parked', 'rejected'), priority, id",
        project.id,
    )
    wanted = set(request.status)
    links, statuses = links_of(context.conn, project.id)
    return [
        idea_view(idea, blocked_by(idea.id, links, statuses) if idea.status == "ready" else ())
        for idea in ideas
        if not wanted or idea.status in wanted
    ]


@operation("idea.show", Which)
def show(context: Context, request: Which) -> Shown:
    """Show an idea with its links, runs and comments."""
    idea = look(context, Idea, request.idea)
    links, statuses = links_of(context.conn, idea.project_id)
    runs = fetch(context.conn, Run, "WHERE idea_id = ? ORDER BY id", idea.id)
    return Shown(
        idea=idea_view(idea, blocked_by(idea.id, links, statuses)),
        project=get(context.conn, Project, idea.project_id).name,
        links=Links(
            after=[ref("idea", link.target) for link in links if link.idea == idea.id and link.kind == "after"],
            before=[ref("idea", link.idea) for link in links if link.target == idea.id and link.kind == "after"],
            supersedes=[
                ref("idea", link.target) for link in links if link.idea == idea.id and link.kind == "supersedes"
            ],
            superseded_by=[
                ref("idea", link.idea) for link in links if link.target == idea.id and link.kind == "supersedes"
            ],
        ),
        runs=[run_view(run, idea.title) for run in runs],
        comments=comments_on(context.conn, "idea", idea.id),
    )


def links_of(conn: Store, project_id: int) -> tuple[list[Link], Mapping[int, IdeaStatus]]:
    """The links between a project's ideas, and the status of each idea."""
    rows = conn.execute(
        "SELECT l.idea_id, l.target_id, l.kind FROM idea_links l JOIN ideas i ON i.id = l.idea_id"
        " WHERE i.project_id = ? ORDER BY l.target_id",
        (project_id,),
    ).fetchall()
    if not rows:
        return [], {}
    statuses = dict(conn.execute("SELECT id, status FROM ideas WHERE project_id = ?", (project_id,)).fetchall())
    return [Link(idea=row[0], target=row[1], kind=row[2]) for row in rows], statuses


def _link(context: Context, project: Project, idea_id: int, request: Add) -> None:
    for kind, names in (("after", request.after), ("supersedes", request.supersedes)):
        for name in dict.fromkeys(names):
            target = look(context, Idea, name)
            if target.project_id != project.id:
                raise UsageError(f"{ref('idea', target.id)} belongs to another project", fix="link ideas of one")
            link = Link(idea=idea_id, target=target.id, kind=kind)  # type: ignore[arg-type]
            cycle = would_cycle(link, links_of(context.conn, project.id)[0])
            if cycle:
                raise RefusedError(f"that would close a circle: {' -> '.join(ref('idea', i) for i in cycle)}")
            context.conn.execute(
                "INSERT OR IGNORE INTO idea_links (idea_id, target_id, kind, actor) VALUES (?, ?, ?, ?)",
                (idea_id, target.id, kind, context.actor),
            )


def _base(context: Context, project: Project, name: str | None) -> int | None:
    if name is None:
        return None
    base = look(context, Candidate, name)
    if base.project_id != project.id:
        raise UsageError(
            f"{ref('candidate', base.id)} belongs to another project", fix="see `piloop candidate list`"
        )
    return base.id


class _Harnesses(msgspec.Struct, frozen=True, kw_only=True):
    harness: dict[str, msgspec.Raw] = {}


def _check_harness(project: Project, name: str) -> None:
    """Refuse a name that surely is no harness, without loading a plugin."""
    # It costs more to import than the rest of the command, and few ideas pin a harness.
    from importlib.metadata import entry_points

    known = set(msgspec.json.decode(project.config, type=_Harnesses).harness)
    plugins = list(entry_points(group="herdr"))
    # Somebody else's plugin may register harnesses under any name: the run finds out.
    others = any(point.dist is None or point.dist.name != "herdr" for point in plugins)
    known |= {point.name for point in plugins}
    if name not in known and not others:
        raise UsageError(
            f"no harness is called {name!r}",
            fix=f"see `herdr harness list`, or define [harness.{name}] in piloop.toml",
        )


def _optional(text: str | None, what: str) -> str | None:
    return None if text is None else text_of(text, what) or None
