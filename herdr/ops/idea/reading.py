"""Lists and shows ideas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from herdr.campaign.links import Link, blocked_by
from herdr.campaign.text import ref
from herdr.contract.words import IdeaStatus
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.idea.linking import links_among
from herdr.ops.look import look
from herdr.ops.views import CommentView, IdeaView, RunView, comments_about, idea_view, run_view
from herdr.store.connection import Store
from herdr.store.rows import Idea, Project, Run, fetch, get

#: Seeds first, because research or a person has to act on them; then what is to run, then what has ended.
ORDER: tuple[IdeaStatus, ...] = ("seed", "proposed", "ready", "scheduled", "parked", "done", "rejected")
ENDED = frozenset({"done", "rejected"})


class IdeaList(msgspec.Struct, frozen=True, kw_only=True):
    """Ideas: seeds first, then the most urgent; the newest of those that have ended come last."""

    ideas: list[IdeaView]
    left_out: int


class IdeaLinks(msgspec.Struct, frozen=True, kw_only=True):
    """What an idea is linked with."""

    after: list[str]
    before: list[str]
    supersedes: list[str]
    superseded_by: list[str]


class IdeaShown(msgspec.Struct, frozen=True, kw_only=True):
    """An idea with all that belongs to it."""

    idea: IdeaView
    project: str
    links: IdeaLinks
    runs: list[RunView]
    comments: list[CommentView]


class ListIdeas(Request[IdeaList], frozen=True, kw_only=True):
    """Which ideas to list: of one project, in these states or in any, at most so many."""

    operation = "idea.list"
    project: str | None = None
    status: tuple[IdeaStatus, ...] = ()
    family: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 200


class ShowIdea(Request[IdeaShown], frozen=True, kw_only=True):
    """One idea."""

    operation = "idea.show"
    idea: str


@operation(ListIdeas)
def list_ideas(context: Context, request: ListIdeas) -> IdeaList:
    """List the ideas of a project; it costs what it lists, however long the campaign."""
    project = project_of(context, request.project)
    statuses = [status for status in ORDER if not request.status or status in request.status]
    ideas: list[Idea] = []
    for status in statuses:
        if len(ideas) < request.limit:
            ideas += _of_status(context.conn, project, status, request.family, request.limit - len(ideas))
    total = _count(context.conn, project, statuses, request.family)
    return IdeaList(ideas=idea_views(context.conn, ideas), left_out=total - len(ideas))


def _of_status(conn: Store, project: Project, status: IdeaStatus, family: str | None, limit: int) -> list[Idea]:
    order = "id DESC" if status in ENDED else "priority, id"
    # The inner question is answered by an index; whole rows are read only of those that are listed.
    return fetch(
        conn,
        Idea,
        "WHERE id IN (SELECT id FROM ideas WHERE project_id = ? AND status = ?"  # noqa: S608 - one of two orders
        f" AND (? IS NULL OR family = ?) ORDER BY {order} LIMIT ?) ORDER BY {order}",
        *(project.id, status, family, family, limit),
    )


def _count(conn: Store, project: Project, statuses: Sequence[str], family: str | None) -> int:
    wanted = msgspec.json.encode(list(statuses)).decode()
    narrower, more = ("", ()) if family is None else (" AND family = ?", (family,))
    count: int = conn.execute(
        "SELECT count(*) FROM ideas WHERE project_id = ? AND status IN (SELECT value FROM json_each(?))"  # noqa: S608
        f"{narrower}",
        (project.id, wanted, *more),
    ).fetchone()[0]
    return count


def idea_views(conn: Store, ideas: Sequence[Idea]) -> list[IdeaView]:
    """Ideas with those that each still waits for.

    Args:
        conn: the open store.
        ideas: their rows, of any project.
    """
    waiting = [idea.id for idea in ideas if idea.status not in ENDED]
    links, statuses = links_among(conn, waiting) if waiting else ([], {})
    by_idea: dict[int, list[Link]] = {}
    for link in links:
        by_idea.setdefault(link.idea, []).append(link)
    return [
        idea_view(idea, [(one, statuses[one]) for one in blocked_by(idea.id, by_idea.get(idea.id, ()), statuses)])
        for idea in ideas
    ]


@operation(ShowIdea)
def show(context: Context, request: ShowIdea) -> IdeaShown:
    """Show an idea with its links, runs and comments."""
    idea = look(context, Idea, request.idea)
    links, _ = links_among(context.conn, [idea.id])
    runs = fetch(context.conn, Run, "WHERE idea_id = ? ORDER BY id", idea.id)
    return IdeaShown(
        idea=idea_views(context.conn, [idea])[0],
        project=get(context.conn, Project, idea.project_id).name,
        links=IdeaLinks(
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
        comments=comments_about(context.conn, "idea", idea.id),
    )
