"""What can go wrong between herdr and tmux."""

from __future__ import annotations

from herdr.errors import HerdrError


class TmuxError(HerdrError):
    """tmux refused a command; the message holds what it said."""


class ServerGone(TmuxError):  # noqa: N818 - an event rather than a mistake
    """The control client lost its tmux server or session: what was asked may or may not have been done."""
