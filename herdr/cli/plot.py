"""`piloop plot`: draws how the metric went, in the terminal or as a picture."""

from __future__ import annotations

import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json
from herdr.errors import HerdrError, UsageError
from herdr.ops.candidate.series import Moment, ShowSeries

if TYPE_CHECKING:
    from herdr.plot import Over, Point

FORMATS = (".svg", ".png")


@click.command()
@click.argument("project", required=False)
@click.option(
    "--over",
    type=click.Choice(["candidates", "time", "tokens"]),
    default="candidates",
    show_default=True,
    help="What the lying axis counts.",
)
@click.option(
    "-o", "--output", metavar="FILE", help="Write a picture: .svg, or .png; - is an SVG on standard output."
)
@json_option
def plot(project: str | None, over: Over, output: str | None, as_json: bool) -> None:
    """Draw the primary metric over candidates, over time or over tokens.

    Without -o it is drawn in the terminal. Tokens are counted when an agent has ended. A PNG takes an optional
    library: pip install 'herdr[png]'.
    """
    from herdr.plot import svg_plot, text_plot

    if output not in (None, "-") and Path(str(output)).suffix.lower() not in FORMATS:
        raise UsageError(f"{output}: a plot is written as .svg or .png", fix="piloop plot -o plot.svg")
    found = ask(ShowSeries(project=project))
    if as_json:
        print_json(found)
        return
    points = _points(found.moments)
    if over == "tokens" and not any(point.tokens for point in points):
        raise HerdrError("no agent that has ended told how many tokens it used", fix="piloop plot --over time")
    said: Any = {"metric": found.metric, "direction": found.direction, "over": over}
    if output is None:
        columns = shutil.get_terminal_size().columns
        click.echo(text_plot(points, **said, width=columns), nl=False)
        return
    svg = svg_plot(points, **said)
    if output == "-":
        sys.stdout.write(svg)
        return
    _write(Path(output), svg)
    click.echo(f"{output}: {found.metric} of {len(points)} candidates over {over}")


def _write(path: Path, svg: str) -> None:
    data = svg.encode()
    if path.suffix.lower() == ".png":
        from herdr.plot.png import png_of

        data = png_of(svg)
    try:
        path.write_bytes(data)
    except OSError as error:
        problem = f"cannot write {path}: {(error.strerror or str(error)).lower()}"
        raise HerdrError(problem, fix="name another file: piloop plot -o plot.svg") from error


def _points(moments: list[Moment]) -> list[Point]:
    from herdr.plot import Point

    times = [datetime.fromisoformat(one.at.replace("Z", "+00:00")) for one in moments]
    return [
        Point(
            number=int(one.ref.partition("#")[2]),
            value=one.value,
            verdict=one.verdict,
            title=one.subject,
            seconds=max((time - times[0]).total_seconds(), 0.0),
            tokens=one.tokens,
        )
        for one, time in zip(moments, times, strict=True)
    ]
