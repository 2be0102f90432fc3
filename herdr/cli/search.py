"""`piloop search`: ideas and comments by their words."""

from __future__ import annotations

from typing import Literal

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json, print_table
from herdr.cli.shared import project_and
from herdr.ops.search import Search


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[PROJECT] WORDS")
@click.option("--ideas", "what", flag_value="ideas", help="Only ideas.")
@click.option("--comments", "what", flag_value="comments", help="Only comments.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many at most.")
@json_option
def search(words: tuple[str, ...], what: Literal["ideas", "comments"] | None, as_json: bool, limit: int) -> None:
    """Find the ideas and comments that have all of WORDS, in any form and order; what fits best comes first."""
    project, text = project_and(words, "WORDS")
    found = ask(Search(project=project, words=text, what=what or "all", limit=limit))
    if as_json:
        print_json(found)
    elif not found:
        click.echo("nothing found")
    else:
        rows = [[h.ref, h.kind, h.author, h.title, h.excerpt] for h in found]
        print_table(rows, ["WHAT", "KIND", "BY", "OF", "WHERE"])
