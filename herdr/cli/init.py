"""`init`: registers a repo, and takes up its edits when it is registered."""

from __future__ import annotations

import os
from pathlib import Path

import click

from herdr.cli.asking import home_for_people
from herdr.home import Home
from herdr.printing.values import number


@click.command()
@click.argument("path", default=".")
def init(path: str) -> None:
    """Register the git repo around PATH as a project, and measure its baseline.

    Writes piloop.toml, brief.md and evaluate.py where they are missing, and commits nothing. Run again, it takes
    up what was edited.
    """
    register(home_for_people("init"), Path(path))
    click.echo('next: piloop idea add "what to try", then herdr up')


def register(home: Home, path: Path) -> str:
    """Register the repo around a path, telling how it goes, and return the project's name.

    Args:
        home: where the project is entered.
        path: the repo, or a folder in it.
    """
    from herdr.setup import set_up

    done = set_up(home, path, os.environ, actor="human", tell=click.echo)
    if done.metrics is None:
        click.echo(f"{done.project.name} is registered, and up to date")
    else:
        scores = ", ".join(f"{name} {number(value)}" for name, value in done.metrics.items())
        click.echo(f"registered {done.project.name}: {scores}")
    return done.project.name
