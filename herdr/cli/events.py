"""`piloop events`: the event log, and what is added to it."""

from __future__ import annotations

import time

import click
import msgspec

from herdr.cli.asking import asking
from herdr.ops.event import ListEvents
from herdr.ops.views import EventView
from herdr.printing.values import visible

#: Seconds between two looks for new events.
LOOK = 0.3
PAGE = 1000


@click.command()
@click.argument("project", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on printing what happens, until interrupted.")
@click.option("--after", type=click.IntRange(0), metavar="ID", help="Only events after this one, oldest first.")
@click.option("--kind", help="Only this kind (run.queued) or this subject (run).")
@click.option("--limit", "-n", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def events(
    project: str | None, follow: bool, after: int | None, kind: str | None, limit: int, as_json: bool
) -> None:
    """Print the newest events, or those after one."""
    with asking() as client:
        found = client.ask(ListEvents(project=project, kind=kind, after=after, limit=limit))
        _print(found, as_json)
        last = found[-1].id if found else after or 0
        while follow:
            found = client.ask(ListEvents(project=project, kind=kind, after=last, limit=PAGE))
            _print(found, as_json)
            last = found[-1].id if found else last
            if not found:
                time.sleep(LOOK)


def _print(found: list[EventView], as_json: bool) -> None:
    for event in found:
        click.echo(msgspec.json.encode(event).decode() if as_json else _line(event))


def _line(event: EventView) -> str:
    facts = " ".join(f"{name}={value}" for name, value in event.payload.items() if value not in (None, "", {}))
    where = event.target or event.project or ""
    text = f"{event.id:>6}  {event.at}  {event.kind:<20} {where:<14} {event.actor:<10} {facts}"
    return visible(text.replace("\n", " "))
