"""The entry points `herdr` and `piloop`; they import all else inside, so that a Ctrl-C meanwhile is quiet too."""

from __future__ import annotations

import sys

from herdr.errors import INTERRUPTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def piloop() -> None:
    """Run `piloop`."""
    sys.exit(run("piloop", sys.argv[1:]))


def herdr() -> None:
    """Run `herdr`."""
    sys.exit(run("herdr", sys.argv[1:]))


def run(program: str, arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status; whatever goes wrong is said on stderr.

    Args:
        program: `herdr` or `piloop`.
        arguments: what was typed after it.
    """
    try:
        from herdr.cli.running import run_command

        return run_command(program, arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
