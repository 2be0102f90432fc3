"""What a measurement gives: rows with a value, its spread and its budget, as a table or as JSON."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from typing import Literal

import msgspec

Unit = Literal["s", "ms", "MB", "%", "x", ""]

HEADINGS = ("WHAT", "MEASURED", "MIN - MAX", "BUDGET", "OF IT")
#: The load average per core up to which a machine counts as quiet.
QUIET_LOAD = 0.5


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One figure. `value` stands for all samples (`of` says how), `low` and `high` are their extremes."""

    what: str
    value: float
    unit: Unit
    of: str = ""
    low: float | None = None
    high: float | None = None
    budget: float | None = None
    note: str = ""

    @property
    def share(self) -> float | None:
        """How much of its budget the value takes, 1.0 being all of it; None without a budget to divide by."""
        return self.value / self.budget if self.budget else None

    @property
    def over(self) -> bool:
        """Whether the value is over its budget."""
        return self.budget is not None and self.value > self.budget


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The class of machine that the figures are of; `load` is its load average when the run began."""

    cores: int
    system: str
    python: str
    tmux: str
    git: str
    load: float

    @property
    def busy(self) -> bool:
        """Whether something else was at work, so that every figure is an upper bound."""
        return self.load > QUIET_LOAD * self.cores


def figure(what: str, value: float, unit: Unit, *, budget: float | None = None, note: str = "") -> Row:
    """A figure that was measured once.

    Args:
        what: what was measured.
        value: the figure.
        unit: its unit.
        budget: what it should not exceed.
        note: a line to print below it.
    """
    return Row(what=what, value=value, unit=unit, budget=budget, note=note)


def spread(
    what: str,
    samples: Sequence[float],
    unit: Unit,
    *,
    percent: int = 50,
    budget: float | None = None,
    note: str = "",
) -> Row:
    """The figure below which `percent` of the samples are (50 is the median), with the lowest and highest.

    Args:
        what: what was measured.
        samples: all figures.
        unit: their unit.
        percent: which percentile stands for them.
        budget: what that should not exceed.
        note: a line to print below it.

    Raises:
        ValueError: there are no samples.
    """
    if not samples:
        raise ValueError(f"nothing was measured: {what}")
    ordered = sorted(samples)
    value = ordered[math.ceil(percent / 100 * len(ordered)) - 1]
    of = f"{'median' if percent == 50 else f'p{percent}'} of {len(ordered)}"
    return Row(
        what=what, value=value, unit=unit, of=of, low=ordered[0], high=ordered[-1], budget=budget, note=note
    )


def machine() -> Machine:
    """Describe this machine, by its class only."""
    return Machine(
        cores=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.release().partition('-')[0]}",
        python=platform.python_version(),
        tmux=_version("tmux", "-V"),
        git=_version("git", "--version"),
        load=round(os.getloadavg()[0], 1),
    )


def table(rows: Sequence[Row]) -> str:
    """The rows with aligned columns, their notes below them."""
    cells = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(HEADINGS))]
    lines = [_line(HEADINGS, widths)]
    for row, texts in zip(rows, cells[1:], strict=True):
        lines.append(_line(texts, widths))
        if row.note:
            lines.append(f"  {row.note}")
    return "\n".join(lines)


def heading(where: Machine) -> str:
    """The machine in a line, with a warning when it was busy."""
    text = f"{where.cores} cores, {where.system}, Python {where.python}, tmux {where.tmux}, git {where.git}"
    warning = f"\nthe machine was busy (load {where.load:g}): every figure is an upper bound"
    return text + (warning if where.busy else "")


def as_json(where: Machine, rows: Sequence[Row]) -> str:
    """Machine and rows as one JSON document."""
    return msgspec.json.format(msgspec.json.encode({"machine": where, "rows": rows})).decode()


def _cells(row: Row) -> tuple[str, ...]:
    what = f"{row.what} ({row.of})" if row.of else row.what
    extent = f"{_number(row.low)} - {_number(row.high)}" if row.low is not None and row.high is not None else ""
    budget = "" if row.budget is None else f"{_number(row.budget)} {row.unit}".strip()
    share = "" if row.share is None else f"{row.share:.0%}"
    return (
        what,
        f"{_number(row.value)} {row.unit}".strip(),
        extent,
        budget,
        f"{share} OVER" if row.over else share,
    )


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = (text.ljust(width) for text, width in zip(texts, widths, strict=True))
    return "  ".join([first, *(text.strip().rjust(len(text)) for text in rest)]).rstrip()


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _version(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {' '.join(command)}: {error}", file=sys.stderr)
        return "?"
    return done.stdout.split()[-1]
