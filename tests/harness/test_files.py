"""Files that agents write, or put something else in the place of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from herdr.harness.files import json_lines


@pytest.mark.timeout(10)
def test_what_is_no_plain_file_has_no_lines(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"n": 1}\nhalf\n[]\n{"n": 2}\n{"n"')
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("a.jsonl")
    assert list(json_lines(tmp_path / "a.jsonl")) == [{"n": 1}, {"n": 2}]
    for name in ("fifo", "link", "missing", "missing/too", "a.jsonl/below"):
        assert list(json_lines(tmp_path / name)) == []
