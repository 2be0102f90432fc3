"""Holds the harnesses that a project names against those that there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from herdr.config import Config, Mistake
from herdr.config.mistakes import show
from herdr.errors import HerdrError
from herdr.harness.registry import Harnesses


def unknown_names(config: Config, known: Harnesses) -> Iterator[Mistake]:
    """Every place of piloop.toml that names a harness which nothing defines, or which was refused.

    Args:
        config: the configuration to look at.
        known: every harness that there is, those of `config` included.
    """
    lists = {
        "harnesses": config.harnesses,
        "roles.worker.harnesses": config.roles.worker.harnesses,
        "roles.research.harnesses": config.roles.research.harnesses,
        "roles.watchdog.harnesses": config.roles.watchdog.harnesses,
    }
    for path, names in lists.items():
        for i, name in enumerate(names or ()):
            try:
                known.get(name)
            except HerdrError as error:
                yield Mistake(f"{path}[{i}]", error.message, error.fix or "", show(name))


def lost_names(pinned: Sequence[tuple[int, str]], old: Harnesses, new: Harnesses) -> Iterator[Mistake]:
    """Every harness that an edit takes away from an idea that runs on it, or is to.

    Args:
        pinned: the ids of open ideas with the harness that each needs.
        old: the harnesses in force.
        new: those of the edited configuration.
    """
    for idea, name in pinned:
        if name in old.names() and name not in new.names():
            fix = (
                f"put it back, or let idea#{idea} run on another (`piloop idea edit idea#{idea} --harness NAME`)"
            )
            yield Mistake(f"harness.{name}", f"idea#{idea} runs on it, and it is gone", fix)
