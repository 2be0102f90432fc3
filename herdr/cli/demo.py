"""`herdr demo`: a whole small campaign with scripted agents."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("directory", required=False, type=click.Path(path_type=Path))
def demo(directory: Path | None) -> None:
    """Make a small real optimisation project in DIRECTORY, and run a campaign on it.

    Needs no account and no key: scripted agents make real edits and commits, in real panes.
    """
    from herdr.cli.asking import home_for_people
    from herdr.demo.run import main

    home_for_people("demo")
    raise click.exceptions.Exit(main(directory))
