"""`piloop idea add`, `seed` and `develop`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.cli.shared import project_and
from herdr.commandline.group import TextCommand
from herdr.ops.idea.filing import AddIdea, DevelopSeed, IdeaFiled, PlantSeed

PRIORITY = click.IntRange(0, 4)


def _options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What `add` and `develop` both take."""
    for option in reversed(
        [
            click.option("--plan", help="What to do, as far as you know."),
            click.option("--family", help="What kind of idea it is."),
            click.option("--harness", help="Only this harness tries it."),
            click.option("--model", help="Only this model tries it."),
            click.option("--base", metavar="candidate#N", help="Start from this candidate instead of the head."),
            click.option("--attempts", type=click.IntRange(1, 1000), help="How often it may be tried."),
            click.option("--proposed", is_flag=True, help="Only propose it: it waits until a human approves it."),
            click.option("--after", multiple=True, metavar="idea#N", help="Wait until that is done. Repeatable."),
            click.option("--supersedes", multiple=True, metavar="idea#N", help="It replaces that. Repeatable."),
        ]
    ):
        function = option(function)
    return function


@click.command(cls=TextCommand)
@click.argument("words", nargs=-1, required=True, metavar="[PROJECT] TITLE")
@click.option("--hypothesis", default="", help="Why it should help.")
@click.option("--from", "provenance", help="Where it comes from: a paper, an issue, a colleague.")
@click.option("--priority", type=PRIORITY, default=2, show_default=True, help="0 is the most urgent.")
@_options
@json_option
def add(
    words: tuple[str, ...],
    hypothesis: str,
    provenance: str | None,
    priority: int,
    plan: str | None,
    family: str | None,
    harness: str | None,
    model: str | None,
    base: str | None,
    attempts: int | None,
    proposed: bool,
    after: tuple[str, ...],
    supersedes: tuple[str, ...],
    as_json: bool,
) -> None:
    """File an idea; it is tried as soon as a slot is free."""
    project, title = project_and(words, "TITLE")
    request = AddIdea(
        project=project,
        title=title,
        hypothesis=hypothesis,
        provenance=provenance,
        priority=priority,
        plan=plan,
        family=family,
        harness=harness,
        model=model,
        base=base,
        attempts=attempts,
        proposed=proposed,
        after=after,
        supersedes=supersedes,
    )
    _print(ask(request), as_json)


@click.command(cls=TextCommand)
@click.argument("words", nargs=-1, required=True, metavar="[PROJECT] HUNCH")
@click.option("--from", "provenance", required=True, help="Pointers: candidates, runs, a paper, a result.")
@click.option("--family", help="What kind of idea it will be.")
@click.option("--base", metavar="candidate#N", help="What the idea will start from.")
@click.option("--priority", type=PRIORITY, default=2, show_default=True, help="0 is the most urgent.")
@json_option
def seed(
    words: tuple[str, ...], provenance: str, family: str | None, base: str | None, priority: int, as_json: bool
) -> None:
    """File a hunch: research develops it into an idea, or rejects it, as soon as it has a slot."""
    project, hunch = project_and(words, "HUNCH")
    request = PlantSeed(
        project=project, hunch=hunch, provenance=provenance, family=family, base=base, priority=priority
    )
    _print(ask(request), as_json)


@click.command(cls=TextCommand)
@click.argument("idea", metavar="idea#N")
@click.option("--hypothesis", required=True, help="What should be true.")
@click.option("--evidence", required=True, help="What speaks for it, and where that is.")
@click.option("--check", required=True, help="The cheapest check that could kill it.")
@click.option("--metric", required=True, help="The metric that decides success.")
@click.option("--effect", required=True, help="The effect that is expected.")
@click.option("--title", help="A better title.")
@click.option("--priority", type=PRIORITY, help="0 is the most urgent.  [default: the seed's]")
@_options
@json_option
def develop(
    idea: str,
    hypothesis: str,
    evidence: str,
    check: str,
    metric: str,
    effect: str,
    title: str | None,
    priority: int | None,
    plan: str | None,
    family: str | None,
    harness: str | None,
    model: str | None,
    base: str | None,
    attempts: int | None,
    proposed: bool,
    after: tuple[str, ...],
    supersedes: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a defined idea of a seed."""
    request = DevelopSeed(
        idea=idea,
        hypothesis=hypothesis,
        evidence=evidence,
        check=check,
        metric=metric,
        effect=effect,
        title=title,
        priority=priority,
        plan=plan,
        family=family,
        harness=harness,
        model=model,
        base=base,
        attempts=attempts,
        proposed=proposed,
        after=after,
        supersedes=supersedes,
    )
    _print(ask(request), as_json)


def _print(filed: IdeaFiled, as_json: bool) -> None:
    if as_json:
        print_json(filed)
        return
    click.echo(f"{filed.ref} {filed.title} ({filed.status}, {filed.project})")
    for like in filed.like:
        click.echo(f"warning: {like.ref} is much like it: {like.title} ({like.status})", err=True)


COMMANDS = (add, seed, develop)
