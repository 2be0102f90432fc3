"""Reading panes: the bottom of the buffer as plain text, one or many in one go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from herdr.mux.control import ControlClient
from herdr.mux.errors import TmuxError
from herdr.mux.screen import Screen

_FACTS = "#{pane_dead} #{pane_in_mode} #{alternate_on} #{pane_title}"


async def capture(client: ControlClient, pane: str, lines: int = 0) -> Screen | None:
    """Read a pane; see `capture_many`.

    Args:
        client: the control client of the session.
        pane: the `%pane`.
        lines: lines of history to read above the screen.
    """
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
    if not lines:
        # The screen alone is read the same way on either screen, so one round trip does.
        both = [(_ask(pane), ("capture-pane", "-p", "-J", "-t", pane)) for pane in panes]
        answers = await client.run_many([command for pair in both for command in pair])
        return [_screen(_facts(answers[at]), answers[at + 1]) for at in range(0, len(answers), 2)]
    known = [_facts(answer) for answer in await client.run_many([_ask(pane) for pane in panes])]
    texts = await client.run_many(
        [
            ("capture-pane", "-p", "-J", "-t", pane, *(() if facts.alternate else ("-S", str(-lines))))
            for pane, facts in zip(panes, known, strict=True)
        ]
    )
    return [_screen(facts, text) for facts, text in zip(known, texts, strict=True)]


class _Facts(NamedTuple):
    dead: bool
    in_mode: bool
    alternate: bool
    title: str


def _ask(pane: str) -> tuple[str, ...]:
    return ("display-message", "-p", "-t", pane, _FACTS)


def _screen(facts: _Facts, text: list[str] | TmuxError) -> Screen | None:
    if isinstance(text, TmuxError):
        return None
    return Screen(text=_bottom(text), title=facts.title, dead=facts.dead, in_mode=facts.in_mode)


def _facts(answer: list[str] | TmuxError) -> _Facts:
    if isinstance(answer, TmuxError) or not answer:
        return _Facts(dead=True, in_mode=False, alternate=False, title="")
    dead, mode, alternate, title = " ".join(answer).split(" ", 3)
    return _Facts(dead=dead == "1", in_mode=mode != "0", alternate=alternate == "1", title=title)


def _bottom(lines: Sequence[str]) -> str:
    return "\n".join([line.rstrip() for line in lines]).rstrip("\n")
