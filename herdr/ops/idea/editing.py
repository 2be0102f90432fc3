"""Changes what an idea says, how urgent it is, and what it starts from."""

from __future__ import annotations

from typing import Literal

import msgspec

from herdr.campaign.text import ref
from herdr.errors import UsageError
from herdr.ops.core import PEOPLE, Context, Request, operation
from herdr.ops.idea.filing import Attempts, Priority, base_of, check_harness, optional, refuse_known
from herdr.ops.look import look, text_of, title_of
from herdr.ops.views import IdeaView, idea_view
from herdr.ops.why import because, note, reason_of
from herdr.store.columns import IdeaChanges
from herdr.store.rows import Idea, Project, get


class IdeaEdited(msgspec.Struct, frozen=True, kw_only=True):
    """The idea as it is now, and what was changed."""

    idea: IdeaView
    changed: list[str]


class EditIdea(Request[IdeaEdited], frozen=True, kw_only=True):
    """New texts and pins of an idea; what is None stays, an empty text is taken away, and so are 0 attempts."""

    operation = "idea.edit"
    idea: str
    title: str | None = None
    hypothesis: str | None = None
    plan: str | None = None
    provenance: str | None = None
    family: str | None = None
    harness: str | None = None
    model: str | None = None
    attempts: Attempts | None = None
    reason: str | None = None


class PrioritiseIdea(Request[IdeaEdited], frozen=True, kw_only=True):
    """How urgent an idea is from now on."""

    operation = "idea.priority"
    idea: str
    priority: Priority
    reason: str | None = None


class ChangeBase(Request[IdeaEdited], frozen=True, kw_only=True):
    """The candidate that an idea starts from; None is the head."""

    operation = "idea.base"
    idea: str
    base: str | None = None
    reason: str | None = None


#: The texts that may be taken away.
TEXTS: tuple[Literal["plan", "provenance", "family", "harness", "model"], ...] = (
    "plan",
    "provenance",
    "family",
    "harness",
    "model",
)


@operation(EditIdea, who=PEOPLE, writes=True)
def edit(context: Context, request: EditIdea) -> IdeaEdited:
    """Change the texts and pins of an idea; a run that is under way keeps the brief that it got.

    Raises:
        UsageError: nothing was named, or a value does not fit.
        RefusedError: another idea has the title.
    """
    idea = look(context, Idea, request.idea)
    project = get(context.conn, Project, idea.project_id)
    values: IdeaChanges = {}
    if request.title is not None:
        values["title"] = title_of(request.title)
        refuse_known(context.conn, project, values["title"], but=idea.id)
    if request.hypothesis is not None:
        values["hypothesis"] = text_of(request.hypothesis, "a hypothesis")
    for name in TEXTS:
        if (text := getattr(request, name)) is not None:
            values[name] = optional(text, f"--{name}")
    if request.attempts is not None:
        values["attempts"] = request.attempts
    if (harness := values.get("harness")) is not None:
        check_harness(project, harness)
    if not values:
        raise UsageError("nothing to change was named", fix="add --plan, --hypothesis, --title …")
    return _change(context, idea, values, request.reason)


@operation(PrioritiseIdea, who=PEOPLE, writes=True)
def prioritise(context: Context, request: PrioritiseIdea) -> IdeaEdited:
    """Say how urgent an idea is."""
    idea = look(context, Idea, request.idea)
    return _change(context, idea, {"priority": request.priority}, request.reason)


@operation(ChangeBase, who=PEOPLE, writes=True)
def rebase(context: Context, request: ChangeBase) -> IdeaEdited:
    """Pin what the next run of an idea starts from, or let it start from the head.

    Raises:
        UsageError: there is no such candidate in its project.
    """
    idea = look(context, Idea, request.idea)
    base = base_of(context, get(context.conn, Project, idea.project_id), request.base)
    return _change(context, idea, {"base_id": base}, request.reason)


def _change(context: Context, idea: Idea, values: IdeaChanges, said: str | None) -> IdeaEdited:
    changed = {name: value for name, value in values.items() if getattr(idea, name) != value}
    reason = reason_of(said)
    if changed:
        with because(context.conn, reason):
            Idea.update(context.conn, idea.id, **values, actor=context.actor)
    names = [name.removesuffix("_id") for name in changed]
    if changed and reason is not None:
        what = ", ".join(_told(idea, name, value) for name, value in changed.items())
        note(context, ("idea", idea.id), idea.project_id, f"{what}: {reason}")
    return IdeaEdited(idea=idea_view(get(context.conn, Idea, idea.id)), changed=names)


def _told(idea: Idea, name: str, value: object) -> str:
    if name == "priority":
        return f"priority {idea.priority} -> {value}"
    if name == "base_id":
        return f"starts from {'the head' if value is None else ref('candidate', int(str(value)))}"
    return f"new {name}"
