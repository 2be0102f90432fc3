"""Fingerprints of what is lent: what counts as a change, and what is kept of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo import prints
from herdr.repo.own import OwnRepository
from herdr.repo.prints import agree, changes, fingerprint, lend, look, meddled


@pytest.fixture
def own(repo: Path, own_of: Callable[[Path], OwnRepository]) -> OwnRepository:
    (repo / "data/deep").mkdir(parents=True)
    (repo / "data/corpus.md").write_text("line\n" * 100)
    (repo / "data/deep/x").write_text("x")
    own = own_of(repo)
    lend(own, "data", ["data"])
    return own


def touch_again(path: Path) -> None:
    path.write_bytes(path.read_bytes())


def test_nothing_changed(own: OwnRepository) -> None:
    assert changes(own, ["data"]) == []


@pytest.mark.parametrize(
    ("act", "named"),
    [
        (lambda data: (data / "corpus.md").write_text("short"), ["data/corpus.md"]),
        (lambda data: (data / "deep/x").unlink(), ["data/deep/x"]),
        (lambda data: (data / "deep/y").write_text("y"), ["data/deep/y"]),
        (lambda data: (data / "deep/x").rename(data / "z"), ["data/deep/x", "data/z"]),
        (lambda data: data.rename(data.with_name("gone")), ["data/corpus.md", "data/deep/x"]),
        (lambda data: touch_again(data / "corpus.md"), []),
        (lambda data: (data / "deep/x").chmod(0o600), []),
        (lambda data: (data / "__pycache__").mkdir() or (data / "__pycache__/a.pyc").write_text(""), []),
        (lambda data: (data / "write.lock").write_text(""), []),
    ],
)
def test_what_is_a_change(own: OwnRepository, act: Callable[[Path], object], named: list[str]) -> None:
    act(own.root / "data")
    assert changes(own, ["data"]) == named


def test_a_change_of_the_same_size_whose_time_was_set_back(own: OwnRepository) -> None:
    file = own.root / "data/corpus.md"
    seen = file.stat()
    file.write_text("evil\n" * 100)
    os.utime(file, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert changes(own, ["data"]) == ["data/corpus.md"]


def test_of_a_large_file_times_and_sizes_count(own: OwnRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prints, "READ", 10)
    agree(own)
    (own.root / "data/corpus.md").write_text("evil\n" * 100)
    assert changes(own, ["data"]) == ["data/corpus.md"]


def test_what_was_noted_stays_until_a_person_agrees(own: OwnRepository) -> None:
    (own.root / "data/corpus.md").write_text("short")
    lend(own, "data", ["data"])
    assert changes(own, ["data"]) == ["data/corpus.md"]
    assert agree(own) > 0
    assert changes(own, ["data"]) == []
    (own.root / "data/deep/x").write_text("y")
    (own.root / "data/deep/x").write_text("x")
    before = agree(own)
    assert agree(own) == before


def test_what_is_put_back_is_no_change_but_was_meddled_with(own: OwnRepository) -> None:
    before = look(own, ["data"])
    (own.root / "data/corpus.md").write_text("short")
    (own.root / "data/corpus.md").write_text("line\n" * 100)
    assert changes(own, ["data"]) == []
    assert meddled(before, look(own, ["data"])) == ["data/corpus.md"]
    assert meddled({}, look(own, ["data"])) == []


def test_what_is_shared_is_not_looked_at(own: OwnRepository) -> None:
    (own.root / "data/corpus.md").write_text("short")
    assert changes(own, []) == []


def test_a_pipe_is_not_waited_for(own: OwnRepository) -> None:
    os.mkfifo(own.root / "data/pipe")
    assert "pipe" in fingerprint(own.root / "data")
