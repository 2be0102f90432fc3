"""Renders docs/events.md: the kinds of events, from the table of the store."""

from __future__ import annotations

from herdr.store.events import EVENTS, FIELDS

INTRODUCTION = """\
# Events

This page is made from `herdr/store/events.py`: `make docs` writes it.

`piloop events` prints the log, with `--json` all of it, with `--follow` as it grows, and with `--kind` one kind
(`run.queued`) or one subject (`run`). Each event has an id that counts up, a time in UTC, who did it, the project
and what it is about. The log is never changed.
"""


def render() -> str:
    """The whole page."""
    kinds = ["| kind | is about | what happened | payload |", "|---|---|---|---|"]
    kinds += [
        f"| `{kind}` | {event.target} | {event.means} | {', '.join(f'`{field}`' for field in event.payload)} |"
        for kind, event in EVENTS.items()
    ]
    fields = ["| field | what it holds |", "|---|---|"]
    fields += [f"| `{name}` | {meaning} |" for name, meaning in FIELDS.items()]
    return "\n".join([INTRODUCTION, "## Kinds", "", *kinds, "", "## Fields of a payload", "", *fields, ""])
