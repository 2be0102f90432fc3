"""Files ideas and seeds, and develops a seed into an idea."""

from __future__ import annotations

import re
from typing import Annotated, TypedDict

import msgspec

from herdr.campaign.moves import AUTHORS, SEEDERS, move
from herdr.campaign.seeds import Developed, hypothesis_of, plan_of
from herdr.campaign.text import first_line, ref
from herdr.campaign.titles import similar_titles, words_of
from herdr.contract.words import IdeaStatus
from herdr.errors import RefusedError, UsageError
from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.idea.linking import link
from herdr.ops.look import TITLE_LENGTH, look, look_target, text_of, title_of
from herdr.ops.why import because
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Idea, Project, Sweep, find, get

#: Ideas with a word of the title in common that are compared with it.
COMPARED = 50
_POINTER = re.compile(r"\b(?:idea|run|candidate|comment|worker|research|watchdog)#\d+")

Priority = Annotated[int, msgspec.Meta(ge=0, le=4)]
Attempts = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class SimilarIdea(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier idea whose title says nearly the same."""

    ref: str
    title: str
    status: IdeaStatus


class IdeaFiled(msgspec.Struct, frozen=True, kw_only=True):
    """The idea or seed, and the earlier ideas that are like it."""

    ref: str
    title: str
    status: IdeaStatus
    project: str
    like: list[SimilarIdea]


class AddIdea(Request[IdeaFiled], frozen=True, kw_only=True):
    """An idea to file; `after` and `supersedes` name other ideas, `base` a candidate to start from."""

    operation = "idea.add"
    title: str
    project: str | None = None
    hypothesis: str = ""
    plan: str | None = None
    provenance: str | None = None
    family: str | None = None
    harness: str | None = None
    model: str | None = None
    base: str | None = None
    priority: Priority = 2
    attempts: Attempts | None = None
    proposed: bool = False
    after: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


class PlantSeed(Request[IdeaFiled], frozen=True, kw_only=True):
    """A seed to file: a hunch, and pointers to what prompted it."""

    operation = "idea.seed"
    hunch: str
    provenance: str
    project: str | None = None
    family: str | None = None
    base: str | None = None
    priority: Priority = 2


class DevelopSeed(Request[IdeaFiled], frozen=True, kw_only=True):
    """What makes an idea of a seed; `check` is the cheapest one that could kill it, `metric` decides success."""

    operation = "idea.develop"
    idea: str
    hypothesis: str
    evidence: str
    check: str
    metric: str
    effect: str
    plan: str | None = None
    title: str | None = None
    family: str | None = None
    harness: str | None = None
    model: str | None = None
    base: str | None = None
    priority: Priority | None = None
    attempts: Attempts | None = None
    proposed: bool = False
    after: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()


@operation(AddIdea, who=AUTHORS, writes=True)
def add(context: Context, request: AddIdea) -> IdeaFiled:
    """File an idea.

    Raises:
        UsageError: something that it names does not exist.
        RefusedError: there is an idea of this title, its links would close a circle, or a research agent has
            filed as many as its sweep may.
    """
    project = project_of(context, request.project)
    _check_sweep(context)
    title = title_of(request.title)
    like = _compare(context.conn, project, title)
    status: IdeaStatus = "proposed" if request.proposed else "ready"
    idea_id = Idea.insert(
        context.conn,
        project_id=project.id,
        title=title,
        status=status,
        priority=request.priority,
        hypothesis=text_of(request.hypothesis, "a hypothesis"),
        plan=optional(request.plan, "a plan"),
        provenance=optional(request.provenance, "a provenance"),
        family=optional(request.family, "a family"),
        **_pins(context, project, request),
        source=context.actor,
        actor=context.actor,
    )
    link(context, get(context.conn, Idea, idea_id), request.after, request.supersedes)
    return IdeaFiled(ref=ref("idea", idea_id), title=title, status=status, project=project.name, like=like)


@operation(PlantSeed, who=SEEDERS, writes=True)
def seed(context: Context, request: PlantSeed) -> IdeaFiled:
    """File a hunch, for research to develop or to reject.

    Raises:
        UsageError: it has no pointers, or one of them names nothing.
        RefusedError: there is an idea of this title.
    """
    project = project_of(context, request.project)
    hunch = text_of(request.hunch, "a hunch")
    title = title_of(first_line(hunch, TITLE_LENGTH))
    _check_pointers(context, request.provenance)
    like = _compare(context.conn, project, title)
    idea_id = Idea.insert(
        context.conn,
        project_id=project.id,
        title=title,
        status="seed",
        priority=request.priority,
        hypothesis=hunch,
        provenance=text_of(request.provenance, "pointers"),
        family=optional(request.family, "a family"),
        base_id=base_of(context, project, request.base),
        source=context.actor,
        actor=context.actor,
    )
    return IdeaFiled(ref=ref("idea", idea_id), title=title, status="seed", project=project.name, like=like)


@operation(DevelopSeed, who=AUTHORS, writes=True)
def develop(context: Context, request: DevelopSeed) -> IdeaFiled:
    """Make a defined idea of a seed.

    Raises:
        UsageError: one of the five things to say about it is empty, or something that it names does not exist.
        RefusedError: it is no seed, or its links would close a circle.
    """
    idea = look(context, Idea, request.idea)
    project = get(context.conn, Project, idea.project_id)
    name = ref("idea", idea.id)
    status = move(name, "propose" if request.proposed else "develop", idea.status, context.role)
    title = idea.title if request.title is None else title_of(request.title)
    like = _compare(context.conn, project, title, but=idea.id) if title != idea.title else []
    found = Developed(**{field: _needed(request, field) for field in Developed.__struct_fields__})
    pins = _pins(context, project, request)
    with because(context.conn, f"developed: {first_line(found.hypothesis)}"):
        Idea.update(
            context.conn,
            idea.id,
            title=title,
            status=status,
            hypothesis=hypothesis_of(idea.hypothesis or idea.title, found),
            plan=plan_of(found, optional(request.plan, "a plan")),
            priority=idea.priority if request.priority is None else request.priority,
            family=idea.family if request.family is None else optional(request.family, "a family"),
            harness=pins["harness"] or idea.harness,
            model=pins["model"] or idea.model,
            base_id=pins["base_id"] or idea.base_id,
            attempts=pins["attempts"] or idea.attempts,
            actor=context.actor,
        )
    link(context, idea, request.after, request.supersedes)
    return IdeaFiled(ref=name, title=title, status=status, project=project.name, like=like)


class _Pins(TypedDict):
    harness: str | None
    model: str | None
    base_id: int | None
    attempts: int | None


def _pins(context: Context, project: Project, request: AddIdea | DevelopSeed) -> _Pins:
    if request.harness is not None:
        check_harness(project, request.harness)
    return {
        "harness": request.harness,
        "model": optional(request.model, "a model"),
        "base_id": base_of(context, project, request.base),
        "attempts": request.attempts,
    }


def _needed(request: DevelopSeed, field: str) -> str:
    text = text_of(getattr(request, field), f"--{field}")
    if not text:
        raise UsageError(f"--{field} is empty", fix="say in a sentence what you found out")
    return text


def _check_pointers(context: Context, provenance: str) -> None:
    if not text_of(provenance, "pointers"):
        raise UsageError(
            "a seed needs pointers to what prompted it", fix='add them: --from "candidate#12, a paper, a result"'
        )
    for pointer in _POINTER.findall(provenance):
        look_target(context, pointer)


def _check_sweep(context: Context) -> None:
    """A research agent files as many ideas of its own as its sweep may; what it develops does not count."""
    agent = context.agent
    if agent is None or agent.sweep_id is None:
        return
    allowed = get(context.conn, Sweep, agent.sweep_id).ideas
    filed = context.conn.execute(
        "SELECT count(*) FROM ideas i JOIN agents a ON i.source = a.role || '#' || a.id"
        " WHERE a.sweep_id = ? AND NOT EXISTS (SELECT 1 FROM events e WHERE e.target_kind = 'idea'"
        " AND e.target_id = i.id AND e.kind = 'idea.added' AND json_extract(e.payload, '$.status') = 'seed')",
        (agent.sweep_id,),
    ).fetchone()[0]
    if filed >= allowed:
        said = f"{allowed} of its own" if allowed else "none of its own"
        raise RefusedError(
            f"{context.actor} may file {said} in this sweep", fix="develop a seed, or leave the rest in a finding"
        )


def refuse_known(conn: Store, project: Project, title: str, *, but: int | None = None) -> None:
    """Refuse a title that another idea of the project has.

    Args:
        conn: the open store.
        project: where the title has to be new.
        title: as it would be stored.
        but: the idea that may have it: the one that is changed.

    Raises:
        RefusedError: names that idea.
    """
    known = find(conn, Idea, "WHERE project_id = ? AND title = ? AND id IS NOT ?", project.id, title, but)
    if known is not None:
        name = ref("idea", known.id)
        raise RefusedError(
            f"{name} has this title already ({known.status})",
            fix=f"piloop idea show {name}, or choose another title",
        )


def _compare(conn: Store, project: Project, title: str, *, but: int | None = None) -> list[SimilarIdea]:
    """Refuse a title that is there already, and find those that nearly are."""
    refuse_known(conn, project, title, but=but)
    words = " OR ".join(f'"{word}"' for word in words_of(title))
    if not words:
        return []
    rows = conn.execute(
        "SELECT i.id, i.title, i.status FROM ideas_fts JOIN ideas i ON i.id = ideas_fts.rowid"
        " WHERE ideas_fts MATCH ? AND i.project_id = ? AND i.id IS NOT ? ORDER BY bm25(ideas_fts) LIMIT ?",
        (f"title : ({words})", project.id, but, COMPARED),
    ).fetchall()
    wanted = similar_titles(title, [(row[0], row[1]) for row in rows])
    return [SimilarIdea(ref=ref("idea", row[0]), title=row[1], status=row[2]) for row in rows if row[0] in wanted]


def base_of(context: Context, project: Project, name: str | None) -> int | None:
    """The candidate that an idea is pinned to.

    Args:
        context: who asks.
        project: the project of the idea.
        name: `candidate#3`; None is the head.

    Raises:
        UsageError: there is none of this name in the project.
    """
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


def check_harness(project: Project, name: str) -> None:
    """Refuse a name that surely is no harness, without loading a plugin.

    Args:
        project: whose configuration may define it.
        name: what the idea is pinned to.

    Raises:
        UsageError: nothing can have registered it.
    """
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


def optional(text: str | None, what: str) -> str | None:
    """A text as it may be stored; None when there is none.

    Args:
        text: what somebody wrote, if anything.
        what: what it is, for the error: `a plan`.
    """
    return None if text is None else text_of(text, what) or None
