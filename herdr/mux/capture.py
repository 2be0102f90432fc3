"""Reading panes: the bottom of the buffer as plain text, one or many in one go."""

from __future__ import annotations

from collections.abc import Sequence

from herdr.mux.control import ControlClient
from herdr.mux.errors import TmuxError
from herdr.runtime.api import Screen

_FACTS = "#{pane_dead} #{pane_in_mode} #{alternate_on} #{pane_title}"


async def capture(client: ControlClient, pane: str, lines: int = 0) -> Screen | None:
    """Read a pane; see `capture_many`."""
    return (await capture_many(client, [pane], lines))[0]


async def capture_many(client: ControlClient, panes: Sequence[str], lines: int = 0) -> list[Screen | None]:
    """Read panes, all commands in one go.

    What is read is the program's own screen, even while a person scrolls in copy mode. Lines that the terminal
    wrapped are joined, so that a rule for one line finds it at every width; lines that a program wrapped itself
    are not. Trailing blanks and blank lines at the end are left out.

    Args:
        client: the control client of the session.
        panes: `%pane` ids.
        lines: lines of history to read above the screen; on an alternate screen there are none that belong to it.

    Returns:
        A screen for each pane, or None for one that is gone.
    """
    facts = await client.run_many([("display-message", "-p", "-t", pane, _FACTS) for pane in panes])
    known = [_facts(answer) for answer in facts]
    texts = await client.run_many(
        [
            ("capture-pane", "-p", "-J", "-t", pane, *(("-S", str(-lines)) if lines and not alternate else ()))
            for pane, (_, _, alternate, _) in zip(panes, known, strict=True)
        ]
    )
    return [
        None if isinstance(text, TmuxError) else Screen(text=_bottom(text), title=title, dead=dead, in_mode=mode)
        for text, (dead, mode, _, title) in zip(texts, known, strict=True)
    ]


def _facts(answer: list[str] | TmuxError) -> tuple[bool, bool, bool, str]:
    if isinstance(answer, TmuxError) or not answer:
        return True, False, False, ""
    dead, mode, alternate, title = " ".join(answer).split(" ", 3)
    return dead == "1", mode != "0", alternate == "1", title


def _bottom(lines: Sequence[str]) -> str:
    return "\n".join([line.rstrip() for line in lines]).rstrip("\n")
