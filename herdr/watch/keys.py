"""The keys of the screen: those of every panel and our own in one table, the hints, and the page behind `?`."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from .panel import Key
from .panels import PANELS
from .panels.agents import AgentsPanel
from .panels.ideas import IdeasPanel
from .panels.inbox import InboxPanel

MOVING = (
    *(
        Key(names=f"{one.number}", shown=f"{one.number}", action=f"panel('{one.part}')", text=one.legend)
        for one in PANELS
    ),
    Key(names="0", shown="0", action="detail", text="the detail of the selected row"),
    Key(names="j", shown="j ↓", action="move(1)", text="down"),
    Key(names="k", shown="k ↑", action="move(-1)", text="up"),
    Key(
        names="enter", shown="enter", action="open", short="open",
        text="the detail on the whole screen; esc goes back",
    ),
    Key(
        names="slash", shown="/", action="filter", short="filter",
        text="show only the rows that hold a text; esc shows all again",
    ),
)  # fmt: skip
LEAVING = (
    Key(names="escape", shown="esc", action="back", text="back: closes a question, the detail, a filter"),
    Key(names="question_mark", shown="?", action="keys", short="keys", text="this page"),
    Key(names="q", shown="q", action="quit", short="quit", text="quit; the campaign goes on"),
)
#: In the order of the page of keys: what is used most stands first.
KEYS = (*MOVING, *IdeasPanel.keys, *AgentsPanel.keys, *InboxPanel.keys, *LEAVING)
BINDINGS: list[BindingType] = [
    Binding(key.names, f"deed('{key.deed}')" if key.deed else key.action, key.text, show=False) for key in KEYS
]


def hints(part: str) -> Content:
    """The line of keys that matter in a panel."""
    own = [key for panel in PANELS if panel.part == part for key in panel.keys]
    keys = own + [key for key in KEYS if key.short and not key.deed]
    parts = [
        part for key in keys for part in ((key.shown, "bold"), (f" {key.short}  " if key.short else " ", ""))
    ]
    return Content.assemble(*parts).rstrip()


def wanted(deed: str) -> str:
    """What a row must be for a deed."""
    return next(key.wants for key in KEYS if key.deed == deed)


class KeysPage(ModalScreen[None]):
    """All keys."""

    BINDINGS: ClassVar = [("escape,q,question_mark,enter", "dismiss", "back")]

    def compose(self) -> ComposeResult:
        """One line for each key."""
        lines = [part for key in KEYS for part in ((f"{key.shown:>6}  ", "bold"), (f"{key.text}\n", ""))]
        with VerticalScroll(id="keys") as box:
            box.border_title = "Keys"
            yield Static(Content.assemble(*lines).rstrip())
