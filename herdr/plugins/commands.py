"""Commands that plugins add to `herdr` and `piloop`, loaded only when one of them is named."""

from __future__ import annotations

import os
from typing import Any

from herdr.errors import HerdrError, describe
from herdr.plugins.loading import blocked_names, distribution, entry_points

GROUP = "herdr.commands"


def find_command(name: str, block: tuple[str, ...] = ()) -> Any | None:
    """Load the click command that a plugin provides under this name; None when no plugin does.

    Args:
        name: the word that was typed.
        block: names that `[plugins] block` turns off; HERDR_BLOCK_PLUGINS does so too.

    Raises:
        HerdrError: the command exists and cannot be loaded.
    """
    if name in blocked_names(block, os.environ):
        return None
    for point in entry_points(GROUP):
        if point.name != name:
            continue
        try:
            return point.load()
        except (Exception, SystemExit) as error:
            owner, version = distribution(point)
            raise HerdrError(
                f"the command {name} of {owner} {version} cannot be loaded: {describe(error)}",
                fix=f"upgrade or remove {owner}, or set HERDR_BLOCK_PLUGINS={name}",
            ) from error
    return None
