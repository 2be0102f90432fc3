"""Shows the progress of a demo: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from herdr.ops.client import Client

from .lines import line_of
from .scene import Scene
from .stage import Stage


class Show(Protocol):
    """Takes each look at the campaign, and lines that are to be said between them."""

    def show(self, scene: Scene) -> None:
        """Show what is new."""

    def say(self, line: str) -> None:
        """Say something."""


class PlainShow:
    """Prints a line for each thing that happened."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def __enter__(self) -> PlainShow:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to put back."""

    def show(self, scene: Scene) -> None:
        """Print what happened since the last look."""
        for event in scene.events:
            line = line_of(scene, event)
            if line is not None:
                self.say(line)

    def say(self, line: str) -> None:
        """Print a line with its time."""
        print(f"{time.monotonic() - self._started:4.0f} s  {line}", flush=True)


def open_show(stage: Stage, client: Client) -> AbstractContextManager[Show]:
    """The show that fits where the output goes: a live table on a terminal, else plain lines.

    Args:
        stage: where the demo takes place.
        client: how the live table asks for more.
    """
    attach = f"tmux -L {stage.home.socket_name} attach"
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from .live import LiveShow

        return LiveShow(stage, client, attach)
    print(f"  look at the agents at work, in another terminal: {attach}", flush=True)
    return PlainShow()
