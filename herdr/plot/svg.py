"""The plot as an SVG document."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from string import Template

from herdr.contract.words import Direction

from .across import Over, Scale, across, scale_of
from .points import (
    MARKS,
    Point,
    baseline_of,
    best_so_far,
    headline,
    mark_of,
    number_text,
    used_marks,
)

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
# Families by name as well: a program without a browser's fonts knows no `system-ui`.
FONTS = "system-ui,Helvetica,Arial,'Liberation Sans','DejaVu Sans','Noto Sans',sans-serif"
STYLE = f"""
text{{font-family:{FONTS};font-size:12px}}.title{{font-size:15px;font-weight:600}}.name{{font-weight:600}}
.base{{stroke-dasharray:5 4}}.best{{stroke-width:2;fill:none;opacity:.75}}
.discard,.crash,.open{{stroke-width:2}}
{COLOURS.substitute(LIGHT)}@media(prefers-color-scheme:dark){{{COLOURS.substitute(DARK)}}}
"""
#: Pixels that a label below the axis takes, and those between the values of two keeps.
LABEL = {"candidates": 34, "time": 72, "tokens": 64}
APART = 46


def svg_plot(
    points: Sequence[Point],
    *,
    metric: str,
    direction: Direction,
    over: Over = "candidates",
    width: int = 960,
    height: int = 460,
) -> str:
    """Draw the candidates in the order given, the best keep so far as a step line, and the first keep's value.

    Args:
        points: the candidates, oldest first; the first keep is the baseline.
        metric: the name of the primary metric.
        direction: which way it improves.
        over: what the lying axis counts.
        width: of the picture, in pixels; so is `height`.
        height: see `width`.

    Returns:
        A whole SVG document that reads well on light and dark pages.
    """
    left, right, top, bottom = 72, width - 40, 64, height - 62
    scale = scale_of(points)
    lying = across(points, over, (right - left) // LABEL[over])

    def x(place: float) -> float:
        return left + 18 + (right - left - 36) * place

    def y(value: float) -> float:
        return bottom - 36 - (bottom - top - 48) * scale.share(value)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{_text(metric)} over {over}</title><style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}" rx="8"/>',
        f'<text class="title" x="{left}" y="30">{_text(headline(points, metric, direction))}</text>',
        f'<text x="{left}" y="{top - 12}">{_text(metric)} ({direction} is better)</text>',
        f'<text x="{(left + right) / 2}" y="{bottom + 38}" text-anchor="middle">{lying.name}</text>',
    ]
    for tick in scale.ticks:
        parts.append(f'<path class="grid" d="M{left} {y(tick):.1f}H{right}"/>')
        parts.append(f'<text x="{left - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{number_text(tick)}</text>')
    parts += [
        f'<text x="{x(place):.1f}" y="{bottom + 18}" text-anchor="middle">{label}</text>'
        for place, label in lying.ticks
    ]
    columns = [x(place) for place in lying.places]
    parts += _lines(points, direction, columns, y, (left, right))
    labelled = _labelled(points, columns)
    for index, point in enumerate(points):
        level = bottom - 8 if point.value is None else y(point.value)
        parts += _point(point, columns[index], level, scale, index in labelled)
    parts += _legend(points, left, height - 10)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _lines(
    points: Sequence[Point],
    direction: Direction,
    columns: Sequence[float],
    y: Callable[[float], float],
    ends: tuple[int, int],
) -> list[str]:
    """The baseline, and the best keep so far."""
    left, right = ends
    parts = []
    baseline = baseline_of(points)
    if baseline is not None:
        parts.append(f'<path class="base" d="M{left} {y(baseline):.1f}H{right}"/>')
        parts.append(f'<text x="{right}" y="{y(baseline) - 6:.1f}" text-anchor="end">baseline</text>')
    steps = [(columns[index], y(value)) for index, value in best_so_far(points, direction)]
    if steps:
        path = f"M{steps[0][0]:.1f} {steps[0][1]:.1f}" + "".join(f"H{a:.1f}V{b:.1f}" for a, b in steps[1:])
        parts.append(f'<path class="best" d="{path}H{right}"/>')
    return parts


def _point(point: Point, x: float, y: float, scale: Scale, labelled: bool) -> list[str]:
    value = "no score" if point.value is None else number_text(point.value)
    kind = point.verdict if point.verdict in MARKS else None
    tip = f"candidate#{point.number}: {value}, {mark_of(point).label}. {point.title}"
    parts = [
        f'<g class="{kind or "open"}" transform="translate({x:.1f} {y:.1f})" data-candidate="{point.number}">',
        f"{mark_of(point).shape}<title>{_text(tip)}</title></g>",
    ]
    if labelled:
        parts.append(f'<text class="name" x="{x:.1f}" y="{y + 20:.1f}" text-anchor="middle">{value}</text>')
    elif point.value is not None and not scale.contains(point.value):
        arrow = "↑" if point.value > scale.high else "↓"
        parts.append(f'<text x="{x:.1f}" y="{y - 9:.1f}" text-anchor="middle">{arrow} {value}</text>')
    return parts


def _labelled(points: Sequence[Point], columns: Sequence[float]) -> set[int]:
    """The indices of keeps whose values are written out: the latest, and as many before as do not overlap."""
    chosen: list[int] = []
    for index in range(len(points) - 1, -1, -1):
        kept = points[index].verdict == "keep" and points[index].value is not None
        if kept and (not chosen or columns[chosen[-1]] - columns[index] >= APART):
            chosen.append(index)
    return set(chosen)


def _legend(points: Sequence[Point], x: float, y: float) -> list[str]:
    parts = []
    for mark in used_marks(points):
        kind = next(name for name, each in MARKS.items() if each is mark)
        parts.append(f'<g class="{kind or "open"}" transform="translate({x + 6} {y - 4})">{mark.shape}</g>')
        parts.append(f'<text x="{x + 18}" y="{y}">{mark.label}</text>')
        x += 40 + 7 * len(mark.label)
    return parts


def _text(text: str) -> str:
    """Safe in XML, where most control characters are not even allowed as entities."""
    return escape(
        re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\N{REPLACEMENT CHARACTER}", text)
    )
