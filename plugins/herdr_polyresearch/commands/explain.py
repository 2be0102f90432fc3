"""`polyresearch explain`: saved threads, and what they come to; no network, no repository."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from herdr.api import HerdrError
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import plain, show_json
from herdr_polyresearch.commands.project import option
from herdr_polyresearch.protocol.explain import explain as find_explanation


@command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def explain(file: Path) -> None:
    """Say what saved threads parse to, derive to, and would be decided as; FILE is JSON, - standard input.

    It holds one case, a list of them, or {"cases": […]}; docs/polyresearch.md has the format.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise HerdrError(f"{file} cannot be read: {reason}", fix="name a file of saved threads") from error
    found = find_explanation(text)
    if option("as_json"):
        show_json(found.as_json())
    else:
        click.echo(plain(found.as_text()))
