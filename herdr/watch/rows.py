"""Answers as rows of the panels: a mark that needs no colour, what it is called, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from textual.content import Content

from herdr.campaign.text import first_line
from herdr.printing.things import verdict_of
from herdr.printing.values import number, percent, span

LINE = 400
BARS = "▁▂▃▄▅▆▇█"
AGENTS = {"busy": "●", "idle": "○", "blocked": "◐", "starting": "◌", "failed_turn": "✕"}
VERDICTS = {"keep": "●", "interesting": "◆", "discard": "○", "crash": "✕"}
COLOURS = {
    "busy": "ansi_green", "blocked": "ansi_yellow bold", "failed_turn": "ansi_red", "starting": "ansi_cyan",
    "keep": "ansi_green", "interesting": "ansi_yellow", "crash": "ansi_red", "seed": "ansi_magenta",
    "proposed": "ansi_yellow", "scheduled": "ansi_green", "P0": "ansi_red bold", "P1": "ansi_yellow bold",
}  # fmt: skip
FAINT = "dim"


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a panel: what it is called, how it is shown, and the answer that it was made from."""

    ref: str
    text: Content
    what: dict[str, Any]


def age(stamp: str | None, now: datetime) -> str:
    """How long ago a time of the store was, in one unit."""
    if stamp is None:
        return ""
    return span((now - datetime.fromisoformat(stamp.replace("Z", "+00:00"))).total_seconds())


def inbox_rows(answer: dict[str, Any], now: datetime) -> list[Row]:
    """The comments that wait for somebody, the most urgent first; seeds are among the ideas."""
    return [_row(one["ref"], one, _comment(one, now)) for one in answer["comments"]]


def agent_rows(answer: dict[str, Any], now: datetime) -> list[Row]:
    """The live agents, with what they tried last."""
    return [_row(one["agent"]["ref"], one, _agent(one, now)) for one in answer["agents"]]


def idea_rows(answer: dict[str, Any], _now: datetime) -> list[Row]:
    """The ideas that may still run, seeds first, with what they wait for."""
    return [_row(one["ref"], one, _idea(one)) for one in answer["ideas"]]


def candidate_rows(answer: dict[str, Any], _now: datetime) -> list[Row]:
    """The candidates, the newest first; the head has a star."""
    return [_row(one["ref"], one, _candidate(one)) for one in reversed(answer["candidates"])]


def sparkline(values: Sequence[float], room: int) -> str:
    """The latest values as bars, as many as there is room for."""
    shown = values[-max(room, 1) :]
    low, high = min(shown, default=0.0), max(shown, default=0.0)
    height = (high - low) or 1.0
    return "".join(BARS[round((value - low) / height * (len(BARS) - 1))] for value in shown)


def left_out(answer: dict[str, Any]) -> int:
    """How many more there are than were listed."""
    return int(answer.get("left_out", 0))


def coloured(word: str, text: str | None = None, size: int = 0) -> tuple[str, str]:
    """A word in its colour, or another text in the word's."""
    return (word if text is None else text).ljust(size), COLOURS.get(word, "")


def _row(ref: str, what: dict[str, Any], text: Content) -> Row:
    return Row(ref=ref, text=text, what=what)


def _comment(one: dict[str, Any], now: datetime) -> Content:
    about = f" {one['about']} {age(one['created_at'], now)}  "
    return Content.assemble(coloured(f"P{one['priority']}"), (about, FAINT), first_line(one["body"], LINE))


def _agent(one: dict[str, Any], now: datetime) -> Content:
    agent = one["agent"]
    state = agent["state"]
    why = f" ({agent['cause']})" if agent["cause"] else ""
    on = f" {one['idea']}" if one["idea"] else ""
    said = first_line(agent["last_line"] or "", LINE)
    return Content.assemble(
        coloured(state, AGENTS.get(state, "·")),
        f" {agent['ref']} ",
        coloured(state),
        (f"{why} {age(one['since'], now)}{on}  ", FAINT),
        said,
    )


def _idea(one: dict[str, Any]) -> Content:
    waits = f" (after {', '.join(one['blocked_by'])})" if one["blocked_by"] else ""
    if one["lost"]:
        waits = f" (blocked: {', '.join(one['lost'])} will not run)"
    return Content.assemble(
        coloured(one["status"], size=9),
        (f" P{one['priority']} ", COLOURS.get(f"P{one['priority']}", "")),
        (f"#{one['ref'].partition('#')[2]}", FAINT),
        (waits, COLOURS["P1"] if one["lost"] else FAINT),
        f" {first_line(one['title'], LINE)}",
    )


def _candidate(one: dict[str, Any]) -> Content:
    verdict = verdict_of(one)
    gain = percent(one["share"]) or number(one["gain"], "+")
    return Content.assemble(
        coloured(verdict, VERDICTS.get(verdict, "□")),
        (f" #{one['ref'].partition('#')[2]}{'*' if one['is_head'] else ' '} ", FAINT),
        coloured(verdict, size=11),
        f" {number(one['value'])} ",
        (f"{gain} " if gain else "", FAINT),
        first_line(one["subject"], LINE),
    )


ROWS: dict[str, Callable[[dict[str, Any], datetime], list[Row]]] = {
    "inbox": inbox_rows,
    "agents": agent_rows,
    "ideas": idea_rows,
    "candidates": candidate_rows,
}
