"""`piloop sql`: one statement on the campaign's database."""

from __future__ import annotations

import base64

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json, print_table
from herdr.commandline.group import TextCommand
from herdr.ops.sql import RunStatement


@click.command(cls=TextCommand)
@click.argument("statement")
@json_option
def sql(statement: str, as_json: bool) -> None:
    """Run one SQL STATEMENT.

    Agents read. People may also insert comments, and edit and acknowledge a little; what is not allowed says so.
    """
    result = ask(RunStatement(statement=statement))
    if as_json:
        print_json(result)
        return
    if result.columns:
        rows = [[_cell(value) for value in row] for row in result.rows]
        print_table(rows, result.columns)
    if result.changed:
        click.echo(f"{result.changed} rows changed")
    if result.truncated:
        click.echo(f"(cut after {len(result.rows)} rows: add a LIMIT, or narrow it down)", err=True)


def _cell(value: object) -> str:
    """A value as it is in JSON too, where bytes are Base64."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return "" if value is None else str(value)
