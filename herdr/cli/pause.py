"""`piloop pause` and `piloop resume`."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.ops.project import PauseProject, ResumeProject


@click.command()
@click.argument("project", required=False)
@click.option("--reason", help="Why, for whoever looks next.")
def pause(project: str | None, reason: str | None) -> None:
    """Start nothing more for a project; what runs goes on to its end."""
    paused = ask(PauseProject(project=project, reason=reason))
    click.echo(f"{paused.name} is paused: piloop resume")


@click.command()
@click.argument("project", required=False)
def resume(project: str | None) -> None:
    """Go on with a paused project."""
    click.echo(f"{ask(ResumeProject(project=project)).name} is active")
