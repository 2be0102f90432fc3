from __future__ import annotations

import pytest

from herdr.cli import output
from herdr.printing import values


def test_a_table_is_cut_to_a_terminal_and_whole_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [["a", "x" * 60], ["größer", "\x1b[2Jshort"]]
    output.print_table(rows, ["ONE", "TWO"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["ONE     TWO", f"a       {'x' * 60}", "größer  short"]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    output.print_table(rows, ["ONE", "TWO"])
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) == 40


def test_numbers_for_reading() -> None:
    found = [values.number(value) for value in (None, 8.0, 7812.456789, 1e-7, 123456789.0, -0.5)]
    assert found == ["", "8", "7812.46", "1e-07", "123456789", "-0.5"]
    assert values.number(2.0, "+") == "+2"
    assert [values.percent(share) for share in (None, 0.025, -0.5)] == ["", "+2.5 %", "-50 %"]


def test_times_and_sizes_for_reading() -> None:
    assert [values.span(s) for s in (-1, 0, 59, 60, 7199, 7200, 200_000)] == [
        *("0 s", "0 s", "59 s", "1 min", "119 min", "2 h", "2 d")
    ]
    assert [values.size_of(n) for n in (0, 999, 1000, 2_500_000)] == ["0 B", "999 B", "1 kB", "2.5 MB"]
    assert values.ago(None) == ""


def test_text_cannot_command_the_terminal() -> None:
    assert values.visible("a\x1b]0;title\x07\nb\tc\r") == "a]0;title\nb\tc"
