"""The plot as a PNG, by an optional library that brings no others with it."""

from __future__ import annotations

from typing import Any

from herdr.errors import HerdrError

#: Pixels of the PNG for each of the SVG: sharp on a dense screen and in print.
ZOOM = 2
PROBE = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{}</svg>'


def png_of(svg: str) -> bytes:
    """Draw an SVG of `svg_plot` as a PNG.

    Raises:
        HerdrError: the library is not installed, or finds no font for the labels.
    """
    library = _library()
    if _draw(library, PROBE.format(_letters(svg))) == _draw(library, PROBE.format("")):
        raise HerdrError(
            "no font was found for the labels of a PNG",
            fix="install one, such as fonts-dejavu-core, or write .svg",
        )
    return _draw(library, svg)


def _library() -> Any:
    try:
        import resvg_py
    except ImportError as error:
        raise HerdrError(
            "writing a PNG takes resvg-py, which is not installed",
            fix="pip install 'herdr[png]', or write an SVG: -o plot.svg",
        ) from error
    return resvg_py


def _draw(library: Any, svg: str) -> bytes:
    return bytes(library.svg_to_bytes(svg_string=svg, zoom=ZOOM))


def _letters(svg: str) -> str:
    """A few letters in the style of the plot."""
    style = svg[svg.index("<style>") : svg.index("</style>") + len("</style>")]
    return f'{style}<text x="2" y="15">abc</text>'
