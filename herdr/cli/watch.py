"""`piloop watch`: the campaign on one screen, live."""

from __future__ import annotations

import sys

import click

from herdr.cli.asking import ask, client_here, home_for_people
from herdr.errors import HerdrError
from herdr.ops.project import ShowLive


@click.command()
@click.argument("project", required=False)
def watch(project: str | None) -> None:
    """Watch the campaign of PROJECT live: inbox, agents, ideas and candidates.

    Keys approve, park, reject and reprioritise ideas, steer agents and attach to them, and answer the inbox;
    ? shows them all.
    """
    home = home_for_people("watch", acts=False)
    # Asked before the screen is drawn, so that what is wrong stays on the terminal.
    name = ask(ShowLive(project=project)).name
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise HerdrError("piloop watch needs a terminal", fix="piloop status")
    from herdr.watch.app import Watch
    from herdr.watch.feed import Feed

    feed = Feed(client_here(), name)
    try:
        Watch(feed, home).run()
    finally:
        feed.close()
