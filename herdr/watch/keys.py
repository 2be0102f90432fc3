"""The keys of the screen: one table for what they do, the hints at the bottom, and the page behind `?`."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key: as Textual names it, as people read it, what it does, and the panels where it says so."""

    names: str
    shown: str
    action: str
    short: str
    text: str
    panels: frozenset[str] = frozenset()


def _key(names: str, shown: str, action: str, short: str, text: str, panels: str = "") -> Key:
    parts = frozenset(panels.split())
    return Key(names=names, shown=shown, action=action, short=short, text=text, panels=parts)


KEYS = (
    _key("1", "1", "panel('inbox')", "", "inbox: comments that wait for somebody"),
    _key(
        "2",
        "2",
        "panel('agents')",
        "",
        "agents: ● busy ○ idle ◐ blocked ◌ starting ✕ failed · unknown",
    ),
    _key("3", "3", "panel('ideas')", "", "ideas, seeds first"),
    _key(
        "4",
        "4",
        "panel('candidates')",
        "",
        "candidates: ● keep ◆ interesting ○ discard ✕ crash □ not judged",
    ),
    _key("0", "0", "detail", "", "the detail of the selected row"),
    _key("j", "j ↓", "move(1)", "", "down"),
    _key("k", "k ↑", "move(-1)", "", "up"),
    _key("enter", "enter", "open", "open", "the detail on the whole screen; esc goes back"),
    _key("slash", "/", "filter", "filter", "show only the rows that hold a text; esc shows all again"),
    _key(
        "y",
        "y",
        "deed('approve')",
        "approve",
        "approve a proposed idea; have a parked one run after all",
        "ideas",
    ),
    _key("p", "p", "deed('park')", "park", "park the idea", "ideas"),
    _key("x", "x", "deed('reject')", "reject", "reject the idea", "ideas"),
    _key("plus,equals_sign", "+", "deed('more_urgent')", "", "make the idea more urgent", "ideas"),
    _key("minus", "-", "deed('less_urgent')", "priority", "make the idea less urgent", "ideas"),
    _key(
        "s",
        "s",
        "deed('steer')",
        "steer",
        "send a text to the agent, or to the one that tries the idea",
        "agents",
    ),
    _key("t", "t", "deed('attach')", "attach", "look at the agent in tmux; Ctrl-b d comes back", "agents"),
    _key("a", "a", "deed('acknowledge')", "acknowledge", "take the comment out of the inbox", "inbox"),
    _key("r", "r", "deed('reply')", "reply", "answer the comment, with a decision", "inbox"),
    _key("escape", "esc", "back", "", "back: closes a question, the detail, a filter"),
    _key("question_mark", "?", "keys", "keys", "this page"),
    _key("q", "q", "quit", "quit", "quit; the campaign goes on"),
)
BINDINGS = [Binding(key.names, key.action, key.text, show=False) for key in KEYS]


def hints(panel: str) -> Content:
    """The line of keys that matter in a panel."""
    keys = [key for key in KEYS if panel in key.panels] + [key for key in KEYS if key.short and not key.panels]
    parts = [
        part for key in keys for part in ((key.shown, "bold"), (f" {key.short}  " if key.short else " ", ""))
    ]
    return Content.assemble(*parts).rstrip()


class KeysPage(ModalScreen[None]):
    """All keys."""

    BINDINGS: ClassVar = [("escape,q,question_mark,enter", "dismiss", "back")]

    def compose(self) -> ComposeResult:
        """One line for each key."""
        lines = [part for key in KEYS for part in ((f"{key.shown:>6}  ", "bold"), (f"{key.text}\n", ""))]
        with VerticalScroll(id="keys") as box:
            box.border_title = "Keys"
            yield Static(Content.assemble(*lines).rstrip())
