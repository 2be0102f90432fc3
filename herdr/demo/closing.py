"""x."""

from __future__ import annotations

from herdr.ops.client import Client

from .lines import standing_line
from .scene import Scene
from .stage import Stage


def close(stage: Stage, client: Client, last: Scene) -> int:
    """X."""
    print(standing_line(last))
    for c in last.candidates:
        print(c["ref"], c["verdict"], c["value"], c["subject"], "|", c["reason"])
    return 0
