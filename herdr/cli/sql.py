"""`piloop sql`: one statement on the campaign's database."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.cli.group import TextCommand
from herdr.cli.output import json_option, print_json, print_table


@click.command(cls=TextCommand)
@click.argument("statement")
@json_option
def sql(statement: str, as_json: bool) -> None:
    """Run one SQL STATEMENT.

    Agents read. People may also insert comments, and edit and acknowledge a little; what is not allowed says so.
    """
    result = ask("sql.run", statement=statement)
    if as_json:
        print_json(result)
        return
    if result["columns"]:
        rows = [["" if value is None else str(value) for value in row] for row in result["rows"]]
        print_table(rows, result["columns"])
    if result["changed"]:
        click.echo(f"{result['changed']} rows changed")
    if result["truncated"]:
        click.echo(f"(cut after {len(result['rows'])} rows: add a LIMIT, or narrow it down)", err=True)
