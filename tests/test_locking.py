"""Locks on files: one holder at a time, within a patience, and free when the holder is gone."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from herdr.locking import open_lock, take_lock


def test_a_lock_is_one_holders_until_it_is_closed(tmp_path: Path) -> None:
    first, second = open_lock(tmp_path / "lock"), open_lock(tmp_path / "lock")
    assert take_lock(first, 0)
    assert not take_lock(second, 0)
    os.close(first)
    assert take_lock(second, 0)
    os.close(second)


@pytest.mark.parametrize("timeout", [30.0, None])
def test_a_lock_is_waited_for(tmp_path: Path, timeout: float | None) -> None:
    first, second = open_lock(tmp_path / "lock"), open_lock(tmp_path / "lock")
    take_lock(first, 0)
    threading.Timer(0.2, os.close, [first]).start()
    begin = time.monotonic()
    assert take_lock(second, timeout)
    assert time.monotonic() - begin >= 0.1
    os.close(second)


def test_patience_ends(tmp_path: Path) -> None:
    first, second = open_lock(tmp_path / "lock"), open_lock(tmp_path / "lock")
    take_lock(first, 0)
    begin = time.monotonic()
    assert not take_lock(second, 0.1)
    assert time.monotonic() - begin >= 0.1
    os.close(first)
    os.close(second)


def test_a_symbolic_link_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="lock"):
        open_lock(tmp_path / "lock")
    assert not (tmp_path / "elsewhere").exists()
