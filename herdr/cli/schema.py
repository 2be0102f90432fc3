"""`piloop schema`: how to ask by SQL."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.ops.sql import ShowSchema


@click.command()
@json_option
def schema(as_json: bool) -> None:
    """Say what can be asked by `piloop sql`, and print the tables."""
    told = ask(ShowSchema())
    if as_json:
        print_json(told)
        return
    click.echo(told.guide)
    click.echo("## The tables\n")
    click.echo("\n\n".join(told.tables))
