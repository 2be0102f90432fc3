"""`python -m bench [NAME…] [--json]`: measure, and print a table beside the budgets; never a verdict."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial

from bench import dispatch, folders, hundred, messages, protocol, runs, scale, startup, steering, turnover
from bench.report import Row, as_json, heading, machine, table

MEASUREMENTS = {
    "startup": startup.measure,
    "dispatch": dispatch.measure,
    "steering": steering.measure,
    "messages": messages.measure,
    "turnover": turnover.measure,
    "runs": runs.measure,
    "hundred": hundred.measure,
    "protocol": protocol.measure,
    "scale": scale.measure,
    "folders": folders.measure,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the measurements that are named, or all; 1 when one of them could not be made."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--files", type=int, default=folders.FILES, help="of the big repo of `folders` (%(default)s)"
    )
    options = parser.parse_args(arguments)
    measurements = MEASUREMENTS | {"folders": partial(folders.measure, options.files)}
    unknown = [name for name in options.names if name not in MEASUREMENTS]
    if unknown:
        parser.error(f"no measurement {unknown[0]!r}: choose from {', '.join(MEASUREMENTS)}")
    where = machine()
    rows: list[Row] = []
    failed = [name for name in options.names or MEASUREMENTS if not _measure(name, measurements[name], rows)]
    print(as_json(where, rows) if options.json else f"{heading(where)}\n\n{table(rows)}")
    for name in failed:
        print(f"bench: {name} could not be measured", file=sys.stderr)
    return 1 if failed else 0


def _measure(name: str, measurement: Callable[[], list[Row]], rows: list[Row]) -> bool:
    begin = time.monotonic()
    print(f"measuring {name} …", end=" ", file=sys.stderr, flush=True)
    try:
        rows += measurement()
    except Exception:
        print("failed", file=sys.stderr)
        traceback.print_exc()
        return False
    print(f"{time.monotonic() - begin:.0f} s", file=sys.stderr)
    return True


if __name__ == "__main__":
    sys.exit(main())
