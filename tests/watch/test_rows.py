"""Parts of rows that need no screen."""

from __future__ import annotations

import pytest

from herdr.ops.status_snapshot import LiveSnapshot
from herdr.watch.header import header
from herdr.watch.panels.candidates import sparkline


@pytest.mark.parametrize(
    ("values", "room", "bars"),
    [
        ([], 10, ""),
        ([3.0], 10, "▁"),
        ([1.0, 1.0], 10, "▁▁"),
        ([8.0, 4.5, 1.0], 10, "█▅▁"),
        ([0.0, 100.0, 1.0, 2.0], 2, "▁█"),
        ([1.0, 2.0], 0, "▁"),
    ],
)
def test_a_sparkline_covers_the_values_that_fit(values: list[float], room: int, bars: str) -> None:
    assert sparkline(values, room) == bars


def test_the_header_of_a_project_without_a_head() -> None:
    live = LiveSnapshot(
        ref="project#1",
        name="new\x1b[31m",
        state="active",
        state_reason=None,
        held_since=None,
        config_error=None,
        head=None,
        trajectory=[],
        agents=[],
    )
    assert header(live, daemon=True).plain == "new · 0 agents · no head yet"
