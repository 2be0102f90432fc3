"""`herdr orchestrator`: the token that lets a program act as the orchestrator."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.commandline.group import SETTINGS
from herdr.ops.orchestrator import MakeToken, RevokeToken
from herdr.printing.values import several


@click.group(context_settings=SETTINGS)
def orchestrator() -> None:
    """Let a program that steers the campaign sign as the orchestrator.

    It files, moves and steers as you do, but only you approve what is proposed.
    """


@orchestrator.command()
@json_option
def token(as_json: bool) -> None:
    """Make its token and print it, this once; an earlier one is no longer taken.

    The program sets it as HERDR_TOKEN before it calls piloop.
    """
    made = ask(MakeToken())
    if as_json:
        print_json(made)
    else:
        click.echo(made.token)
        click.echo("it is shown only now; the orchestrator's shell needs: export HERDR_TOKEN=…", err=True)


@orchestrator.command()
@json_option
def revoke(as_json: bool) -> None:
    """Take the token back."""
    done = ask(RevokeToken())
    if as_json:
        print_json(done)
    else:
        click.echo(f"{several(done.count, 'token')} taken back")
