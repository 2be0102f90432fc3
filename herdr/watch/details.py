"""The detail of the selected row: everything there is about one comment, agent, idea or candidate."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from textual.content import Content

from herdr.campaign.text import first_line
from herdr.printing.things import verdict_of
from herdr.printing.values import number, percent, visible

from .feed import Feed
from .rows import FAINT, LINE, age

HEADING = "bold ansi_cyan"
#: The latest of what an agent was told and what happened in its run.
LATEST = 8


class Page:
    """Collects facts, texts and lists, and gives them as one text."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._parts: list[tuple[str, str]] = []

    def title(self, text: str) -> None:
        """The first line."""
        self._parts.append((f"{first_line(text, LINE)}\n", "bold"))

    def fact(self, name: str, value: object) -> None:
        """A line `name value`, if there is a value."""
        if value in (None, "", [], {}):
            return
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        self._parts += [(f"{name} ", FAINT), (f"{first_line(text, LINE)}\n", "")]

    def text(self, heading: str, body: str | None) -> None:
        """A text of several lines under a heading, if there is one."""
        if body:
            self.heading(heading)
            self._parts.append((f"{visible(body).rstrip()}\n", ""))

    def heading(self, text: str) -> None:
        """A heading with a blank line before it."""
        self._parts.append((f"\n{text}\n", HEADING))

    def line(self, strong: str, text: str = "") -> None:
        """One line of a list."""
        self._parts += [(strong, "bold"), (f" {first_line(text, LINE)}\n", "")]

    def comments(self, comments: Sequence[dict[str, Any]], heading: str = "Comments") -> None:
        """Comments, whole, the latest last."""
        if comments:
            self.heading(heading)
        for one in comments:
            self.comment(one)

    def comment(self, one: dict[str, Any], depth: int = 0) -> None:
        """One comment, whole, further to the right the deeper in its thread it is."""
        inset = "  " * min(depth, 4)
        urgent = f" P{one['priority']}" if one["priority"] is not None else ""
        when = f"{age(one['created_at'], self._now)} ago"
        said = f"{inset}{one['ref']} {one['kind']}{urgent} by {one['author']}, {when}"
        body = "\n".join(f"{inset}  {line}" for line in visible(one["body"]).splitlines())
        self._parts += [(f"{said}\n", FAINT), (f"{body}\n", "")]

    def content(self) -> Content:
        """All of it."""
        return Content.assemble(*self._parts)


async def detail(feed: Feed, part: str, ref: str, what: dict[str, Any], now: datetime) -> Content:
    """Ask for all that belongs to a row, and lay it out.

    Args:
        feed: where to ask.
        part: the panel that the row is in.
        ref: what the row is called.
        what: the answer that the row was made from.
        now: for ages.

    Raises:
        HerdrError: it is not there any more.
    """
    page = Page(now)
    if part == "inbox":
        _comment(page, await feed.ask("comment.show", comment=ref))
    elif part == "ideas":
        _idea(page, await feed.ask("idea.show", idea=ref), now)
    elif part == "candidates":
        _candidate(page, await feed.ask("candidate.show", candidate=ref), now)
    else:
        run = what["agent"]["run"]
        _agent(page, what, await feed.ask("run.show", run=run) if run else None, now)
    return page.content()


def _comment(page: Page, shown: dict[str, Any]) -> None:
    page.title(f"{shown['ref']}: {shown['kind']} by {shown['author']}")
    page.fact("on", shown["target"])
    page.fact("about", shown["about"] if shown["about"] != shown["target"] else None)
    page.heading("Thread" if len(shown["thread"]) > 1 else "Text")
    for one in shown["thread"]:
        page.comment(one["comment"], one["depth"])


def _idea(page: Page, shown: dict[str, Any], now: datetime) -> None:
    idea, links = shown["idea"], shown["links"]
    page.title(f"{idea['ref']}: {idea['title']}")
    page.fact("status", idea["status"])
    page.fact("waits for", idea["blocked_by"])
    page.fact("will not run", idea["lost"])
    for name in ("priority", "harness", "model", "base", "attempts", "family"):
        page.fact(name, idea[name])
    page.fact("from", idea["provenance"])
    page.fact("filed", f"{age(idea['created_at'], now)} ago by {idea['source']}")
    for name, linked in links.items():
        page.fact(name.replace("_", " "), linked)
    page.text("Hypothesis", idea["hypothesis"])
    page.text("Plan", idea["plan"])
    if shown["runs"]:
        page.heading("Runs")
    for run in shown["runs"]:
        page.line(run["ref"], f"{run['state']} {run['harness']} {run['detail'] or ''}")
    page.comments(shown["comments"])


def _agent(page: Page, live: dict[str, Any], shown: dict[str, Any] | None, now: datetime) -> None:
    agent = live["agent"]
    page.title(f"{agent['ref']}: {live['title'] or agent['role']}")
    page.fact("state", f"{agent['state']} for {age(live['since'], now)}")
    page.fact("cause", " ".join(filter(None, [agent["cause"], agent["detail"]])))
    page.fact("works on", " ".join(filter(None, [agent["run"] or agent["sweep"], live["idea"]])))
    page.fact("harness", " ".join(filter(None, [agent["harness"], agent["model"]])))
    page.fact("launched", f"{age(agent['launched_at'], now)} ago")
    page.fact("tokens", agent["tokens"])
    page.text("Last line", agent["last_line"])
    if live["waiting"]:
        page.text("A message waits", f"{live['waiting']}\n{live['waiting_for'] or ''}")
    if shown is None:
        return
    if shown["messages"]:
        page.heading("Messages")
    for one in shown["messages"][-LATEST:]:
        page.line(one["state"], f"{one['body']}{': ' + one['detail'] if one['detail'] else ''}")
    page.comments(shown["comments"][-LATEST:])
    page.heading("What happened")
    for event in shown["events"][-LATEST:]:
        page.line(f"{age(event['at'], now)} ago", f"{event['kind']} {event['target']} by {event['actor']}")


def _candidate(page: Page, shown: dict[str, Any], now: datetime) -> None:
    one = shown["candidate"]
    page.title(f"{one['ref']}: {one['subject']}")
    page.fact("verdict", verdict_of(one) + (" (the head)" if one["is_head"] else ""))
    page.fact("why", one["reason"] or one["error"])
    page.fact(shown["metric"], number(one["value"]))
    page.fact("gain", " ".join(filter(None, [number(one["gain"], "+"), percent(one["share"])])))
    page.fact("over", one["bar"])
    for name, value in one["metrics"].items():
        page.fact(name, number(value) if name != shown["metric"] else None)
    page.fact("parent", one["parent"])
    page.fact("origin", one["origin"])
    page.fact("runs", shown["runs"])
    page.fact("commit", one["commit"][:12])
    page.fact("changed protected files", one["touched"])
    page.fact("recorded", f"{age(one['created_at'], now)} ago")
    page.text("Note", one["note"])
    page.comments(shown["comments"])
