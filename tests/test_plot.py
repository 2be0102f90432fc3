from __future__ import annotations

from xml.etree import ElementTree

import pytest

from herdr.plot import Point, svg_plot, text_plot

SVG = "{http://www.w3.org/2000/svg}"


def point(number: int, value: float | None, verdict: str | None, title: str = "") -> Point:
    return Point(number=number, value=value, verdict=verdict, title=title)


CAMPAIGN = [
    point(1, 13507, "keep", "baseline"),
    point(4, 11534, "keep", '2-opt <fast> & "loose" ]]> \x1b[31m\x00'),
    point(5, 11760, "discard"),
    point(7, 11600, "interesting"),
    point(8, None, "crash"),
    point(9, 10476, "keep"),
    point(10, 94000, "discard", "hopeless"),
    point(12, None, None),
]


def drawn(points: list[Point]) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(svg_plot(points, metric="length <m>", direction="lower"))
    return {
        mark.attrib["data-candidate"]: mark for mark in root.iter(f"{SVG}g") if "data-candidate" in mark.attrib
    }


def level(mark: ElementTree.Element) -> float:
    return float(mark.attrib["transform"].rstrip(")").split(" ")[1])


def test_svg_is_well_formed_and_has_each_candidate_with_its_verdict() -> None:
    marks = drawn(CAMPAIGN)
    assert {number: mark.attrib["class"] for number, mark in marks.items()} == {
        "1": "keep", "4": "keep", "5": "discard", "7": "interesting",
        "8": "crash", "9": "keep", "10": "discard", "12": "open",
    }  # fmt: skip
    assert "2-opt <fast> &" in (marks["4"].findtext(f"{SVG}title") or "")


def test_svg_puts_larger_values_higher_and_a_hopeless_one_inside_the_picture() -> None:
    marks = drawn(CAMPAIGN)
    assert level(marks["1"]) < level(marks["5"]) < level(marks["9"]) < level(marks["8"])
    assert 0 < level(marks["10"]) < level(marks["1"])
    assert "↑ 94,000" in svg_plot(CAMPAIGN, metric="length", direction="lower")


def test_best_so_far_follows_only_keeps_that_are_better() -> None:
    points = [point(1, 10, "keep"), point(2, 30, "discard"), point(3, 20, "keep"), point(4, 15, "keep")]
    for direction, last in (("higher", "10 → 20 (+100.0%)"), ("lower", "10 → 10 (+0.0%)")):
        assert last in text_plot(points, metric="score", direction=direction)  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [30, 40, 80, 200])
def test_text_fits_the_terminal_and_shows_each_verdict(width: int) -> None:
    lines = text_plot(CAMPAIGN, metric="length", direction="lower", width=width).splitlines()
    plot = [line for line in lines if "│" in line or "┤" in line]
    assert max(map(len, [*plot, *lines[len(plot) + 2 : -1]])) <= width
    assert {sign for line in plot for sign in line if sign in "●◆○✕□"} == set("●◆○✕□")
    assert lines[0] == "length: 13,507 → 10,476 (-22.4%)"


@pytest.mark.parametrize(
    "points", [[], [point(1, None, "crash")], [point(1, 0.0, "keep")], [point(1, 3, None)] * 2]
)
def test_little_to_show_is_shown(points: list[Point]) -> None:
    ElementTree.fromstring(svg_plot(points, metric="m", direction="higher"))
    assert text_plot(points, metric="m", direction="higher").endswith("\n")


def test_many_candidates_share_columns_but_keep_the_keeps() -> None:
    many = [point(n, 1000 - n, "keep" if n % 50 == 0 else "discard") for n in range(500)]
    text = text_plot(many, metric="m", direction="lower", width=60)
    assert text.count("●") >= 8
    assert max(map(len, text.splitlines())) <= 60
    assert len(drawn(many)) == 500
