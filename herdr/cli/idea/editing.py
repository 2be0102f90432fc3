"""`piloop idea priority`, `base`, `edit`, `link` and `unlink`."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.commandline.group import TextCommand
from herdr.errors import UsageError
from herdr.ops.idea.editing import ChangeBase, EditIdea, IdeaEdited, PrioritiseIdea
from herdr.ops.idea.linking import LinkIdea, LinksChanged, UnlinkIdea

reason_option = click.option("--reason", help="Why: a comment on the idea, and in the event log.")
after_option = click.option(
    "--after", multiple=True, metavar="idea#N", help="It waits until that is done. Repeatable."
)
supersedes_option = click.option(
    "--supersedes", multiple=True, metavar="idea#N", help="It replaces that. Repeatable."
)


@click.command()
@click.argument("idea", metavar="idea#N")
@click.argument("priority", type=click.IntRange(0, 4), metavar="0-4")
@reason_option
@json_option
def priority(idea: str, priority: int, reason: str | None, as_json: bool) -> None:
    """Say how urgent an idea is: 0 is urgent, 4 is someday."""
    _print(ask(PrioritiseIdea(idea=idea, priority=priority, reason=reason)), as_json)


@click.command()
@click.argument("idea", metavar="idea#N")
@click.argument("base", required=False, metavar="[candidate#N]")
@click.option("--head", is_flag=True, help="Start from the head again.")
@reason_option
@json_option
def base(idea: str, base: str | None, head: bool, reason: str | None, as_json: bool) -> None:
    """Pin the candidate that the next run of an idea starts from."""
    if head == (base is not None):
        raise UsageError("what should it start from?", fix="name a candidate, or say --head")
    _print(ask(ChangeBase(idea=idea, base=base, reason=reason)), as_json)


@click.command(cls=TextCommand)
@click.argument("idea", metavar="idea#N")
@click.option("--title", help="A new title.")
@click.option("--hypothesis", help="A new hypothesis.")
@click.option("--plan", help='A new plan; "" takes it away, and so with the rest.')
@click.option("--from", "provenance", help="Where it comes from.")
@click.option("--family", help="What kind of idea it is.")
@click.option("--harness", help="Only this harness tries it.")
@click.option("--model", help="Only this model tries it.")
@click.option("--attempts", type=click.IntRange(1, 1000), help="How often it may be tried.")
@reason_option
@json_option
def edit(
    idea: str,
    title: str | None,
    hypothesis: str | None,
    plan: str | None,
    provenance: str | None,
    family: str | None,
    harness: str | None,
    model: str | None,
    attempts: int | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Change what an idea says; a run that is under way keeps the brief that it got."""
    request = EditIdea(
        idea=idea,
        title=title,
        hypothesis=hypothesis,
        plan=plan,
        provenance=provenance,
        family=family,
        harness=harness,
        model=model,
        attempts=attempts,
        reason=reason,
    )
    _print(ask(request), as_json)


@click.command()
@click.argument("idea", metavar="idea#N")
@after_option
@supersedes_option
@reason_option
@json_option
def link(
    idea: str, after: tuple[str, ...], supersedes: tuple[str, ...], reason: str | None, as_json: bool
) -> None:
    """Have an idea wait for others, or replace them."""
    _print_links(ask(LinkIdea(idea=idea, after=after, supersedes=supersedes, reason=reason)), as_json)


@click.command()
@click.argument("idea", metavar="idea#N")
@after_option
@supersedes_option
@reason_option
@json_option
def unlink(
    idea: str, after: tuple[str, ...], supersedes: tuple[str, ...], reason: str | None, as_json: bool
) -> None:
    """Take links of an idea away."""
    _print_links(ask(UnlinkIdea(idea=idea, after=after, supersedes=supersedes, reason=reason)), as_json)


def _print(edited: IdeaEdited, as_json: bool) -> None:
    if as_json:
        print_json(edited)
        return
    one = edited.idea
    told = {"priority": str(one.priority), "base": one.base or "the head"}
    what = [f"{name} {told[name]}" if name in told else f"new {name}" for name in edited.changed]
    click.echo(f"{one.ref} {one.title}: {', '.join(what) or 'unchanged'}")


def _print_links(linked: LinksChanged, as_json: bool) -> None:
    if as_json:
        print_json(linked)
        return
    links = (("after", linked.after), ("supersedes", linked.supersedes))
    said = [f"{kind} {', '.join(names)}" for kind, names in links if names]
    click.echo(f"{linked.ref}: {'; '.join(said) or 'no links'}")


COMMANDS = (priority, base, edit, link, unlink)
