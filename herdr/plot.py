"""The metric over the candidates of a campaign, as an SVG file and as text for a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from html import escape
from string import Template
from typing import Literal

import msgspec

Direction = Literal["lower", "higher"]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate: `value` is None when it has no score, `verdict` None when it has not been judged."""

    number: int
    value: float | None
    verdict: str | None = None
    title: str = ""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """How a verdict is drawn: a shape and a character, so that colour is never the only difference."""

    shape: str
    sign: str
    label: str


MARKS: dict[str | None, Mark] = {
    "keep": Mark(shape='<circle r="5.5"/>', sign="●", label="keep"),
    "interesting": Mark(shape='<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"/>', sign="◆", label="interesting"),
    "discard": Mark(shape='<circle r="4.5"/>', sign="○", label="discard"),
    "crash": Mark(shape='<path d="M-5-5 5 5M-5 5 5-5"/>', sign="✕", label="crash"),
    None: Mark(shape='<path d="M-4-4H4V4H-4z"/>', sign="□", label="not judged"),
}

# Plain colours for each scheme: not every program that shows an SVG knows CSS variables.
COLOURS = Template("""
text{fill:$faint}.title{fill:$ink}.name{fill:$keep}.paper{fill:$paper}.grid{stroke:$grid}.base{stroke:$faint}
.best{stroke:$keep}.keep{fill:$keep;stroke:$paper}.interesting{fill:$interesting;stroke:$paper}
.discard{fill:$paper;stroke:$discard}.crash{stroke:$crash}.open{fill:$paper;stroke:$open}
""")
LIGHT = {
    "paper": "#fff", "ink": "#1f2328", "faint": "#6b737c", "grid": "#e6e9ec", "keep": "#1a7f4b",
    "interesting": "#b26a00", "discard": "#7b848e", "crash": "#c93a3a", "open": "#3b6fd4",
}  # fmt: skip
DARK = {
    "paper": "#14181d", "ink": "#e6e9ec", "faint": "#98a2ad", "grid": "#2a3038", "keep": "#4cc38a",
    "interesting": "#f0b04a", "discard": "#98a2ad", "crash": "#ff7a70", "open": "#7ba7ff",
}  # fmt: skip
STYLE = f"""
text{{font:12px system-ui,sans-serif}}.title{{font-size:15px;font-weight:600}}.name{{font-weight:600}}
.base{{stroke-dasharray:5 4}}.best{{stroke-width:2;fill:none;opacity:.75}}
.discard,.crash,.open{{stroke-width:2}}
{COLOURS.substitute(LIGHT)}@media(prefers-color-scheme:dark){{{COLOURS.substitute(DARK)}}}
"""


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """The values an axis covers; what lies outside is drawn at its edge."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Where a value lies between the low end (0) and the high end (1)."""
        return (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def holds(self, value: float) -> bool:
        """Whether the value lies inside."""
        return self.low <= value <= self.high


def svg_plot(
    points: Sequence[Point], *, metric: str, direction: Direction, width: int = 960, height: int = 460
) -> str:
    """Draw the candidates in the order given, the best keep so far as a step line, and the first keep's value.

    Args:
        points: the candidates, oldest first; the first keep is the baseline.
        metric: the name of the primary metric.
        direction: which way it improves.
        width: of the picture, in pixels; so is `height`.
        height: see `width`.

    Returns:
        A whole SVG document that reads well on light and dark pages.
    """
    left, right, top, bottom = 72, width - 40, 64, height - 62
    scale = _scale(points)

    def x(place: float) -> float:
        return left + 18 + (right - left - 36) * place / max(len(points) - 1, 1)

    def y(value: float) -> float:
        return bottom - 36 - (bottom - top - 48) * scale.share(value)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{_text(metric)} over candidates</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
        f'<text class="title" x="{left}" y="30">{_text(_headline(points, metric, direction))}</text>',
        f'<text x="{left}" y="{top - 12}">{_text(metric)} ({direction} is better)</text>',
        f'<text x="{(left + right) / 2}" y="{bottom + 38}" text-anchor="middle">candidate</text>',
    ]
    for tick in scale.ticks:
        parts.append(f'<path class="grid" d="M{left} {y(tick):.1f}H{right}"/>')
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{_number(tick)}</text>')
    every = math.ceil(len(points) * 34 / (right - left)) or 1
    parts += [
        f'<text x="{x(place):.1f}" y="{bottom + 18}" text-anchor="middle">{points[place].number}</text>'
        for place in range(0, len(points), every)
    ]
    baseline = _baseline(points)
    if baseline is not None:
        parts.append(f'<path class="base" d="M{left} {y(baseline):.1f}H{right}"/>')
        parts.append(f'<text x="{right}" y="{y(baseline) - 6:.1f}" text-anchor="end">baseline</text>')
    steps = [(x(place), y(value)) for place, value in _best_so_far(points, direction)]
    if steps:
        path = f"M{steps[0][0]:.1f} {steps[0][1]:.1f}" + "".join(f"H{a:.1f}V{b:.1f}" for a, b in steps[1:])
        parts.append(f'<path class="best" d="{path}H{right}"/>')
    labelled = _labelled(points, math.ceil(len(points) * 46 / (right - left)))
    for place, point in enumerate(points):
        level = bottom - 8 if point.value is None else y(point.value)
        parts += _svg_point(point, x(place), level, scale, place in labelled)
    parts += _svg_legend(points, left, height - 10)
    return "\n".join([*parts, "</svg>"]) + "\n"


def text_plot(
    points: Sequence[Point], *, metric: str, direction: Direction, width: int = 80, height: int = 14
) -> str:
    """Draw the same with characters: as wide as the terminal, without colour.

    Args:
        points: the candidates, oldest first; the first keep is the baseline.
        metric: the name of the primary metric.
        direction: which way it improves.
        width: the columns that may be used; below 30 it is drawn for 30.
        height: the rows of the plot itself.

    Returns:
        Lines without trailing spaces.
    """
    scale = _scale(points)
    rows = range(height)
    labels = dict.fromkeys(rows, "")
    for tick in scale.ticks:
        labels[_row(scale, tick, height)] = _number(tick)
    margin = max(map(len, labels.values()))
    columns = max(width, 30) - margin - 4
    grid = [[" "] * columns for _ in rows]

    def column(place: float) -> int:
        return round(1 + (columns - 3) * place / max(len(points) - 1, 1))

    baseline = _baseline(points)
    if baseline is not None:
        grid[_row(scale, baseline, height)] = ["╌"] * columns
    best = _best_so_far(points, direction)
    ends = [*(place for place, _ in best[1:]), float(len(points) - 1)]
    for (start, value), end in zip(best, ends, strict=False):
        for place in range(column(start), column(end) + 1):
            grid[_row(scale, value, height)][place] = "─"
    # Keeps last: where two candidates share a cell, the one that mattered is seen.
    for place, point in sorted(enumerate(points), key=lambda each: each[1].verdict == "keep"):
        row = height - 1 if point.value is None else _row(scale, point.value, height)
        grid[row][column(place)] = _mark(point).sign
    lines = [_headline(points, metric, direction), ""]
    lines += [f"{labels[row]:>{margin}} {'┤' if labels[row] else '│'} {''.join(grid[row])}" for row in rows]
    lines.append(f"{'':{margin}} └{'─' * (columns + 1)}")
    lines.append(f"{'':{margin}}   {_numbers_below(points, column)}")
    lines.append(f"{'':{margin}}   {'   '.join(f'{mark.sign} {mark.label}' for mark in _used(points))}")
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _svg_point(point: Point, x: float, y: float, scale: Scale, labelled: bool) -> list[str]:
    value = "no score" if point.value is None else _number(point.value)
    kind = point.verdict if point.verdict in MARKS else None
    tip = f"candidate#{point.number}: {value}, {_mark(point).label}. {point.title}"
    parts = [
        f'<g class="{kind or "open"}" transform="translate({x:.1f} {y:.1f})" data-candidate="{point.number}">',
        f"{_mark(point).shape}<title>{_text(tip)}</title></g>",
    ]
    if labelled:
        parts.append(f'<text class="name" x="{x:.1f}" y="{y + 20:.1f}" text-anchor="middle">{value}</text>')
    elif point.value is not None and not scale.holds(point.value):
        arrow = "↑" if point.value > scale.high else "↓"
        parts.append(f'<text x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{arrow} {value}</text>')
    return parts


def _labelled(points: Sequence[Point], apart: int) -> set[int]:
    """The places of keeps whose values are written out: the latest, and as many before it as do not overlap."""
    places: list[int] = []
    for place in range(len(points) - 1, -1, -1):
        kept = points[place].verdict == "keep" and points[place].value is not None
        if kept and (not places or places[-1] - place >= apart):
            places.append(place)
    return set(places)


def _svg_legend(points: Sequence[Point], x: float, y: float) -> list[str]:
    parts = []
    for mark in _used(points):
        kind = next(name for name, each in MARKS.items() if each is mark)
        parts.append(f'<g class="{kind or "open"}" transform="translate({x + 6} {y - 4})">{mark.shape}</g>')
        parts.append(f'<text x="{x + 18}" y="{y}">{mark.label}</text>')
        x += 40 + 7 * len(mark.label)
    return parts


def _scale(points: Sequence[Point]) -> Scale:
    """Cover the keeps and some room around them: one hopeless value must not flatten all others."""
    values = [point.value for point in points if point.value is not None]
    kept = [point.value for point in points if point.value is not None and point.verdict == "keep"]
    low, high = min(kept or values, default=0.0), max(kept or values, default=1.0)
    room = (high - low) / 2 or abs(high) / 20 or 1.0
    low, high = max(min(values, default=low), low - room), min(max(values, default=high), high + room)
    if low == high:
        low, high = low - room, high + room
    step = _tick_step((high - low) / 5)
    first = math.ceil(low / step)
    ticks = tuple(step * n for n in range(first, math.floor(high / step) + 1))
    return Scale(low=low, high=high, ticks=ticks)


def _tick_step(rough: float) -> float:
    """The next of 1, 2, 5, 10, … times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough)


def _baseline(points: Sequence[Point]) -> float | None:
    return next((p.value for p in points if p.verdict == "keep" and p.value is not None), None)


def _best_so_far(points: Sequence[Point], direction: Direction) -> list[tuple[float, float]]:
    """(place, value) of each keep that was better than all before."""
    best: list[tuple[float, float]] = []
    for place, point in enumerate(points):
        if point.verdict != "keep" or point.value is None:
            continue
        if not best or (point.value < best[-1][1] if direction == "lower" else point.value > best[-1][1]):
            best.append((float(place), point.value))
    return best


def _headline(points: Sequence[Point], metric: str, direction: Direction) -> str:
    best = _best_so_far(points, direction)
    if not best:
        return f"{metric}: nothing kept yet"
    first, last = best[0][1], best[-1][1]
    gain = f" ({(last - first) / abs(first):+.1%})" if first else ""
    return f"{metric}: {_number(first)} → {_number(last)}{gain}"


def _row(scale: Scale, value: float, height: int) -> int:
    # The bottom row is left to candidates without a score.
    return round((height - 2) * (1 - scale.share(value)))


def _numbers_below(points: Sequence[Point], column: Callable[[float], int]) -> str:
    """The candidates' numbers under their columns, as many as fit with a space between them."""
    line = ""
    for place, point in enumerate(points):
        text = str(point.number)
        start = max(column(place) - (len(text) - 1) // 2, 0)
        if not line or start > len(line):
            line = line.ljust(start) + text
    return line


def _mark(point: Point) -> Mark:
    return MARKS.get(point.verdict, MARKS[None])


def _used(points: Sequence[Point]) -> list[Mark]:
    return [mark for mark in MARKS.values() if any(_mark(point) is mark for point in points)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _text(text: str) -> str:
    """Safe in XML, where most control characters are not even allowed as entities."""
    return escape(
        re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\N{REPLACEMENT CHARACTER}", text)
    )
