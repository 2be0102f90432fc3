"""`piloop idea list` and `show`."""

from __future__ import annotations

from typing import get_args

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_facts, print_json, print_table, print_text
from herdr.cli.shared import print_comments
from herdr.contract.words import IdeaStatus
from herdr.ops.idea.reading import ListIdeas, ShowIdea
from herdr.ops.views import IdeaView
from herdr.printing.things import pinned_to, waits_for
from herdr.printing.values import ago

STATUSES = get_args(IdeaStatus)


@click.command("list")
@click.argument("project", required=False)
@click.option("--status", multiple=True, type=click.Choice(STATUSES), help="Only these. Repeatable.")
@click.option("--family", help="Only those of this family.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many at most.")
@json_option
def list_ideas(
    project: str | None, status: tuple[IdeaStatus, ...], family: str | None, limit: int, as_json: bool
) -> None:
    """List ideas: seeds first, then the most urgent, and the newest of those that have ended last."""
    listed = ask(ListIdeas(project=project, status=status, family=family, limit=limit))
    if as_json:
        print_json(listed)
        return
    if not listed.ideas:
        click.echo('no ideas yet: piloop idea add "what to try"')
        return
    rows = [[i.ref, i.status, str(i.priority), i.source, _title(i)] for i in listed.ideas]
    print_table(rows, ["IDEA", "STATUS", "P", "BY", "TITLE"])
    if listed.left_out:
        click.echo(f"({listed.left_out} more: --limit)")


@click.command()
@click.argument("idea", metavar="idea#N")
@json_option
def show(idea: str, as_json: bool) -> None:
    """Show an idea with its runs and comments."""
    shown = ask(ShowIdea(idea=idea))
    if as_json:
        print_json(shown)
        return
    one, links = shown.idea, shown.links
    print_facts(
        [
            (one.ref, one.title),
            ("project", shown.project),
            ("status", one.status),
            ("waits for", [waits_for(one)] if one.blocked_by else None),
            ("priority", one.priority),
            ("harness", one.harness),
            ("model", one.model),
            ("base", one.base),
            ("attempts", one.attempts),
            ("family", one.family),
            ("from", one.provenance),
            ("filed", f"{ago(one.created_at)} ago by {one.source}"),
            ("after", links.after),
            ("before", links.before),
            ("supersedes", links.supersedes),
            ("superseded by", links.superseded_by),
        ]
    )
    print_text("Hypothesis", one.hypothesis)
    print_text("Plan", one.plan)
    if shown.runs:
        click.echo("\nRuns")
        rows = [[r.ref, r.state, r.harness, r.detail or ""] for r in shown.runs]
        print_table(rows, ["RUN", "STATE", "HARNESS", "END"], indent="  ")
    print_comments(shown.comments)


def _title(one: IdeaView) -> str:
    after = f"  (after {waits_for(one)})" if one.blocked_by else ""
    return f"{one.title}{pinned_to(one)}{after}"


COMMANDS = (list_ideas, show)
