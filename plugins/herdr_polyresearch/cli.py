"""The entry point `polyresearch`; it imports all else inside, so that a Ctrl-C meanwhile is quiet too."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

#: The same as `run_program` returns; that may not be imported yet when Ctrl-C comes.
INTERRUPTED = 130


def main() -> None:
    """Run the program and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; whatever goes wrong is said on stderr."""
    try:
        from herdr.api import run_program
        from herdr_polyresearch.commands.table import polyresearch

        return run_program(polyresearch, "polyresearch", arguments, product="polyresearch")
    except KeyboardInterrupt:
        return INTERRUPTED
