"""Links ideas: what waits for what, and what replaces what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from herdr.campaign.links import Link, would_cycle
from herdr.campaign.text import ref
from herdr.contract.words import IdeaStatus, LinkKind
from herdr.errors import RefusedError, UsageError
from herdr.ops.core import PEOPLE, Context, Request, operation
from herdr.ops.look import look
from herdr.ops.why import because, note, reason_of
from herdr.store.connection import Store
from herdr.store.rows import Idea, emit


class LinksChanged(msgspec.Struct, frozen=True, kw_only=True):
    """All the links of an idea as they are now."""

    ref: str
    after: list[str]
    supersedes: list[str]


class LinkChange(Request[LinksChanged], frozen=True, kw_only=True):
    """Links of an idea to other ideas, and why."""

    idea: str
    after: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()
    reason: str | None = None


class LinkIdea(LinkChange, frozen=True, kw_only=True):
    """Links to make."""

    operation = "idea.link"


class UnlinkIdea(LinkChange, frozen=True, kw_only=True):
    """Links to take away."""

    operation = "idea.unlink"


@operation(LinkIdea, who=PEOPLE, writes=True)
def add_links(context: Context, request: LinkIdea) -> LinksChanged:
    """Have an idea wait for others, or replace them.

    Raises:
        UsageError: nothing to link was named.
        RefusedError: a circle would close, or the idea is done or rejected.
    """
    idea, reason = _prepare(context, request)
    if request.after and idea.status in ("done", "rejected"):
        raise RefusedError(
            f"{ref('idea', idea.id)} is {idea.status}: it waits for nothing", fix="link an idea that is to run"
        )
    with because(context.conn, reason):
        link(context, idea, request.after, request.supersedes)
    return _told(context, idea, request, "linked", reason)


@operation(UnlinkIdea, who=PEOPLE, writes=True)
def remove_links(context: Context, request: UnlinkIdea) -> LinksChanged:
    """Take links away; an idea that was rejected because of one stays rejected.

    Raises:
        UsageError: nothing was named, or there is no such link.
    """
    idea, reason = _prepare(context, request)
    for kind, names in (("after", request.after), ("supersedes", request.supersedes)):
        for name in dict.fromkeys(names):
            target = look(context, Idea, name).id
            gone = context.conn.execute(
                "DELETE FROM idea_links WHERE idea_id = ? AND target_id = ? AND kind = ?", (idea.id, target, kind)
            )
            if not gone.rowcount:
                raise UsageError(
                    f"{ref('idea', idea.id)} has no link {kind} {ref('idea', target)}",
                    fix=f"see `piloop idea show {ref('idea', idea.id)}`",
                )
            emit(
                context.conn,
                "idea.unlinked",
                context.actor,
                project_id=idea.project_id,
                target=("idea", idea.id),
                payload={"kind": kind, "to": target, "reason": reason},
            )
    return _told(context, idea, request, "unlinked", reason)


def link(context: Context, idea: Idea, after: Sequence[str], supersedes: Sequence[str]) -> None:
    """Enter links of an idea; one that is there already stays.

    Args:
        context: who asks.
        idea: the one that waits or replaces.
        after: names of the ideas that it waits for.
        supersedes: names of the ideas that it replaces.

    Raises:
        UsageError: an idea is not there, or of another project.
        RefusedError: a circle would close.
    """
    known = links_of(context.conn, idea.project_id) if after or supersedes else []
    asked: tuple[tuple[LinkKind, Sequence[str]], ...] = (("after", after), ("supersedes", supersedes))
    for kind, names in asked:
        for name in dict.fromkeys(names):
            target = look(context, Idea, name)
            if target.project_id != idea.project_id:
                raise UsageError(f"{ref('idea', target.id)} belongs to another project", fix="link ideas of one")
            new = Link(idea=idea.id, target=target.id, kind=kind)
            _refuse_circle(new, known)
            known.append(new)
            context.conn.execute(
                "INSERT INTO idea_links (idea_id, target_id, kind, actor) VALUES (?, ?, ?, ?)"
                " ON CONFLICT DO NOTHING",
                (idea.id, target.id, kind, context.actor),
            )


def _refuse_circle(new: Link, known: Sequence[Link]) -> None:
    if new.idea == new.target:
        raise RefusedError(f"{ref('idea', new.idea)} cannot be linked to itself", fix="name another idea")
    cycle = would_cycle(new, known)
    if cycle:
        raise RefusedError(
            f"that would close a circle: {' -> '.join(ref('idea', number) for number in cycle)}",
            fix="take one of these links away first: piloop idea unlink",
        )


def links_of(conn: Store, project_id: int) -> list[Link]:
    """All the links between a project's ideas.

    Args:
        conn: the open store.
        project_id: whose ideas.
    """
    rows = conn.execute(
        "SELECT l.idea_id, l.target_id, l.kind FROM idea_links l JOIN ideas i ON i.id = l.idea_id"
        " WHERE i.project_id = ? ORDER BY l.target_id",
        (project_id,),
    )
    return [Link(idea=row[0], target=row[1], kind=row[2]) for row in rows]


def links_among(conn: Store, ideas: Sequence[int]) -> tuple[list[Link], Mapping[int, IdeaStatus]]:
    """The links from and to some ideas, and the status of each idea in them: two questions in any campaign.

    Args:
        conn: the open store.
        ideas: their ids.
    """
    wanted = msgspec.json.encode(list(ideas)).decode()
    rows = conn.execute(
        "SELECT idea_id, target_id, kind FROM idea_links WHERE idea_id IN (SELECT value FROM json_each(?1))"
        " UNION SELECT idea_id, target_id, kind FROM idea_links"
        " WHERE target_id IN (SELECT value FROM json_each(?1)) ORDER BY 2, 1",
        (wanted,),
    ).fetchall()
    links = [Link(idea=row[0], target=row[1], kind=row[2]) for row in rows]
    among = msgspec.json.encode(sorted({one for row in rows for one in row[:2]})).decode()
    statuses = conn.execute(
        "SELECT id, status FROM ideas WHERE id IN (SELECT value FROM json_each(?))", (among,)
    ).fetchall()
    return links, dict(statuses)


def _prepare(context: Context, request: LinkChange) -> tuple[Idea, str | None]:
    if not request.after and not request.supersedes:
        raise UsageError("no link was named", fix="add --after idea#N or --supersedes idea#N")
    return look(context, Idea, request.idea), reason_of(request.reason)


def _told(context: Context, idea: Idea, request: LinkChange, word: str, reason: str | None) -> LinksChanged:
    if reason is not None:
        named = ", ".join(
            f"{kind} {ref('idea', look(context, Idea, name).id)}"
            for kind, names in (("after", request.after), ("supersedes", request.supersedes))
            for name in names
        )
        note(context, ("idea", idea.id), idea.project_id, f"{word} ({named}): {reason}")
    links, _ = links_among(context.conn, [idea.id])
    own = [one for one in links if one.idea == idea.id]
    return LinksChanged(
        ref=ref("idea", idea.id),
        after=[ref("idea", one.target) for one in own if one.kind == "after"],
        supersedes=[ref("idea", one.target) for one in own if one.kind == "supersedes"],
    )
