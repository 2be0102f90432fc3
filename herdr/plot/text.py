"""The plot drawn with characters, as wide as the terminal and without colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from herdr.contract.words import Direction

from .across import Over, Scale, across, scale_of
from .points import Point, baseline_of, best_so_far, headline, mark_of, number_text, used_marks

#: Columns that a label below the axis takes.
LABEL = {"candidates": 1, "time": 9, "tokens": 8}


def text_plot(
    points: Sequence[Point],
    *,
    metric: str,
    direction: Direction,
    over: Over = "candidates",
    width: int = 80,
    height: int = 14,
) -> str:
    """Draw what `svg_plot` draws.

    Args:
        points: the candidates, oldest first; the first keep is the baseline.
        metric: the name of the primary metric.
        direction: which way it improves.
        over: what the lying axis counts.
        width: the columns that may be used; below 30 it is drawn for 30.
        height: the rows of the plot itself.

    Returns:
        Lines without trailing spaces.
    """
    scale = scale_of(points)
    rows = range(height)
    labels = dict.fromkeys(rows, "")
    for tick in scale.ticks:
        labels[_row(scale, tick, height)] = number_text(tick)
    margin = max(map(len, labels.values()))
    columns = max(width, 30) - margin - 4
    lying = across(points, over, columns // LABEL[over])
    grid = [[" "] * columns for _ in rows]

    def column(place: float) -> int:
        return round(1 + (columns - 3) * place)

    baseline = baseline_of(points)
    if baseline is not None:
        grid[_row(scale, baseline, height)] = ["╌"] * columns
    best = best_so_far(points, direction)
    ends = [*(lying.places[index] for index, _ in best[1:]), 1.0 if len(points) > 1 else 0.0]
    for (index, value), end in zip(best, ends, strict=False):
        for place in range(column(lying.places[index]), column(end) + 1):
            grid[_row(scale, value, height)][place] = "─"
    # Keeps last: where two candidates share a cell, the one that mattered is seen.
    for index, point in sorted(enumerate(points), key=lambda each: each[1].verdict == "keep"):
        row = height - 1 if point.value is None else _row(scale, point.value, height)
        grid[row][column(lying.places[index])] = mark_of(point).sign
    lines = [headline(points, metric, direction), ""]
    lines += [f"{labels[row]:>{margin}} {'┤' if labels[row] else '│'} {''.join(grid[row])}" for row in rows]
    lines.append(f"{'':{margin}} └{'─' * (columns + 1)}")
    lines.append(f"{'':{margin}}   {_below(lying.ticks, column, columns)}")
    lines.append(f"{'':{margin}}   {'   '.join(f'{mark.sign} {mark.label}' for mark in used_marks(points))}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _row(scale: Scale, value: float, height: int) -> int:
    # The bottom row is left to candidates without a score.
    return round((height - 2) * (1 - scale.share(value)))


def _below(ticks: Sequence[tuple[float, str]], column: Callable[[float], int], columns: int) -> str:
    """The labels of the axis under their columns, as many as fit with a space between them."""
    line = ""
    for place, label in ticks:
        start = max(column(place) - (len(label) - 1) // 2, 0)
        if (not line or start > len(line)) and start + len(label) <= columns:
            line = line.ljust(start) + label
    return line
