"""`piloop plot`, as a person types it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from herdr.store.rows import Agent, Candidate, Measurement

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def tried(store: Any, one_run: Any) -> Any:
    """Three candidates after the baseline, at one-hour steps, with agents that ended before the first two."""
    Candidate.update(store, 1, created_at="2026-01-01T00:00:00.000Z", actor="daemon")
    one_run("succeeded")
    ended: dict[str, Any] = {
        "project_id": 1,
        "run_id": None,
        "harness": "fake",
        "session_id": "s",
        "token_hash": "h",
    }
    ended |= {"state": "ended", "actor": "daemon"}
    for hour, tokens in ((1, 1_000_000), (2, None), (2, 500_000)):
        at = f"2026-01-01T0{hour}:00:00.000Z"
        Agent.insert(store, **ended, ended_at=at, tokens_in=tokens, tokens_cached=0)
    for number, (size, verdict, origin) in enumerate(
        ((6, "keep", "run"), (7, "discard", "run"), (9, None, "skipped"), (None, "crash", "run")), start=1
    ):
        row: dict[str, Any] = {
            "project_id": 1,
            "run_id": 1,
            "parent_id": 1,
            "tree_sha": str(number),
            "commit_sha": str(number),
        }
        row |= {"subject": f"try {number}", "origin": origin, "verdict": verdict, "actor": "daemon"}
        made = Candidate.insert(store, **row, created_at=f"2026-01-01T0{number}:30:00.000Z")
        Measurement.insert(
            store,
            candidate_id=made,
            evaluator_id=1,
            state="done",
            metrics=json.dumps({} if size is None else {"size": size}),
            actor="daemon",
        )
    return store


def drawn(svg: str) -> dict[str, float]:
    """By candidate, how far to the right it is."""
    root = ElementTree.fromstring(svg)
    marks = [mark for mark in root.iter(f"{SVG}g") if "data-candidate" in mark.attrib]
    return {m.attrib["data-candidate"]: float(m.attrib["transform"][10:].split(" ")[0]) for m in marks}


def test_without_a_file_it_is_drawn_in_the_terminal(tried: Any, piloop: Any) -> None:
    out = piloop("plot")
    assert out.startswith("size: 8 → 6 (-25.0%)\n")
    assert "● keep   ○ discard   ✕ crash" in out
    assert "4 h" in piloop("plot", "tiny", "--over", "time")
    assert "1.4M" in piloop("plot", "--over", "tokens")


@pytest.mark.parametrize(
    ("over", "places"),
    [("candidates", (0, 1 / 3, 2 / 3, 1)), ("time", (0, 1 / 3, 5 / 9, 1)), ("tokens", (0, 2 / 3, 1, 1))],
)
def test_an_svg_has_the_candidates_where_they_belong(
    tried: Any, piloop: Any, root: Path, over: str, places: tuple[float, ...]
) -> None:
    assert piloop("plot", "--over", over, "-o", "out.svg") == f"out.svg: size of 4 candidates over {over}\n"
    found = drawn((root / "out.svg").read_text())
    assert list(found) == ["1", "2", "3", "5"]
    first, last = found["1"], found["5"]
    assert [(x - first) / (last - first) for x in found.values()] == pytest.approx(places, abs=0.001)
    assert piloop("plot", "--over", over, "-o", "-") == (root / "out.svg").read_text()


def test_a_png_is_one_and_has_its_labels(tried: Any, piloop: Any, root: Path) -> None:
    pytest.importorskip("resvg_py")
    piloop("plot", "-o", "out.PNG")
    data = (root / "out.PNG").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")) == (1920, 920)


def test_a_png_without_the_library_says_what_to_install(
    tried: Any, typed: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    done = typed("piloop", "plot", "-o", "out.png")
    assert done.code == 1
    assert "error: writing a PNG takes resvg-py, which is not installed" in done.err
    assert "pip install 'herdr[png]'" in done.err
    assert not (root / "out.png").exists()


def test_a_png_without_any_font_is_not_written_without_labels(
    tried: Any, typed: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resvg_py = pytest.importorskip("resvg_py")
    real = resvg_py.svg_to_bytes
    monkeypatch.setattr(resvg_py, "svg_to_bytes", lambda **more: real(**more, skip_system_fonts=True))
    assert "no font was found for the labels" in typed("piloop", "plot", "-o", "out.png").err
    assert not (root / "out.png").exists()


def test_what_cannot_be_drawn_is_said(store: Any, typed: Any) -> None:
    assert typed("piloop", "plot", "-o", "out.pdf").code == 2
    done = typed("piloop", "plot", "-o", "no/such/folder/out.svg")
    assert "error: cannot write no/such/folder/out.svg: no such file or directory" in done.err
    done = typed("piloop", "plot", "--over", "tokens")
    assert (done.code, "no agent that has ended told" in done.err) == (1, True)
    assert typed("piloop", "plot", "other").code == 2


def test_json_has_what_is_drawn(tried: Any, piloop: Any) -> None:
    found = json.loads(piloop("plot", "--json"))
    assert (found["metric"], found["direction"]) == ("size", "lower")
    assert [one["tokens"] for one in found["moments"]] == [0, 1_000_000, 1_500_000, 1_500_000]
    assert [one["value"] for one in found["moments"]] == [8, 6, 7, None]
