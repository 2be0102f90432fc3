"""`piloop history`: what a campaign has tried and found."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.ops.history import GatherHistory
from herdr.printing.values import visible


@click.command()
@click.argument("project", required=False)
@json_option
def history(project: str | None, as_json: bool) -> None:
    """Tell what was tried, by family and with outcomes; what was kept; what was found: the research pack."""
    told = ask(GatherHistory(project=project))
    if as_json:
        print_json(told)
    else:
        click.echo(visible(told.text), nl=False)
