"""What is seen of a pane, and what became of a text that was typed into it."""

from __future__ import annotations

from typing import Literal

import msgspec


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """The bottom of a pane's buffer as plain text, with what tmux knows about the pane."""

    text: str
    title: str = ""
    dead: bool = False
    in_mode: bool = False


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a text.

    `received`: the harness gave evidence. `unconfirmed`: it was typed and nothing tells whether it was taken; it
    must never be typed again. `waiting`: nothing was typed because the pane cannot take text now (`detail` says
    why: blocked, in copy mode, a draft, busy). `failed`: it can never be typed here.
    """

    state: Literal["received", "unconfirmed", "waiting", "failed"]
    detail: str = ""
