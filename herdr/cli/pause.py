"""`piloop pause` and `piloop resume`."""

from __future__ import annotations

import click

from herdr.cli.asking import ask


@click.command()
@click.argument("project", required=False)
@click.option("--reason", help="Why, for whoever looks next.")
def pause(project: str | None, reason: str | None) -> None:
    """Start nothing more for a project; what runs goes on to its end."""
    click.echo(f"{ask('project.pause', project=project, reason=reason)['name']} is paused: piloop resume")


@click.command()
@click.argument("project", required=False)
def resume(project: str | None) -> None:
    """Go on with a paused project."""
    click.echo(f"{ask('project.resume', project=project)['name']} is active")
