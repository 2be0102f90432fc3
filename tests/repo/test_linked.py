"""Linked paths: an agent's writes never reach the person's files, and what it gets is what the person has."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.errors import HerdrError, RefusedError
from herdr.repo import linked
from herdr.repo.files import delete_entry
from herdr.repo.furnish import furnish
from herdr.repo.isolated import Isolated
from herdr.repo.linked import FICLONE, UNFINISHED, can_clone, view_of
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Start = Callable[..., RunFolder]


@pytest.fixture
def data(repo: Path, commit: Callable[..., str]) -> Path:
    """An ignored folder of the checkout, with all that a folder of data may hold."""
    commit(repo, {".gitignore": "/data/\n/one.bin\n/cache/\n/.venv/\n"})
    folder = repo / "data"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "corpus.md").write_text("line\n" * 1000)
    (folder / "deep/er/tool").write_text("#!/bin/sh\n")
    (folder / "deep/er/tool").chmod(0o755)
    (folder / "secret").write_text("s")
    (folder / "secret").chmod(0o440)
    (folder / "beside").symlink_to("corpus.md")
    (folder / "absolute").symlink_to(folder / "deep")
    (folder / "code").symlink_to("../solve.py")
    os.utime(folder / "corpus.md", (1_000_000_000, 1_000_000_000))
    return folder


def give(folder: RunFolder, *link: str, shared: tuple[str, ...] = ()) -> Path:
    furnish(folder.place, folder.own, link=link, shared=shared)
    return folder.place.worktree


def content(folder: Path) -> dict[str, object]:
    """All below a folder, byte for byte, with modes and times."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        seen = path.lstat()
        body = path.read_bytes() if stat.S_ISREG(seen.st_mode) else ""
        found[str(path.relative_to(folder))] = (seen.st_mode, seen.st_mtime_ns, seen.st_ino, body)
    return found


def test_nothing_that_an_agent_does_in_a_view_reaches_the_persons_files(data: Path, start: Start) -> None:
    before = content(data)
    worktree = give(start(), "data")
    view = worktree / "data"
    assert (view / "corpus.md").read_bytes() == (data / "corpus.md").read_bytes()
    (view / "corpus.md").write_text("short")
    os.truncate(view / "deep/er/tool", 0)
    (view / "beside").write_text("through a link")
    (view / "absolute/er/fresh").write_text("x")
    (view / "secret").chmod(0o600)
    (view / "secret").write_text("told")
    (view / "code").write_text("the worktree's")
    (view / "deep/er/tool").unlink()
    assert content(data) == before
    assert (data.parent / "solve.py").read_text() == "print(1)\n"
    assert (worktree / "solve.py").read_text() == "the worktree's"


def test_a_view_keeps_modes_times_and_symlinks(data: Path, start: Start) -> None:
    view = give(start(), "data") / "data"
    assert stat.S_IMODE((view / "deep/er/tool").stat().st_mode) == 0o755
    assert stat.S_IMODE((view / "secret").stat().st_mode) == 0o440
    assert (view / "corpus.md").stat().st_mtime == 1_000_000_000
    assert (view / "corpus.md").stat().st_nlink == 1
    assert str((view / "beside").readlink()) == "corpus.md"
    assert str((view / "absolute").readlink()) == "deep"
    assert (view / "code").resolve() == (view.parent / "solve.py").resolve()


def test_a_view_of_a_folder_that_may_not_be_written_to(data: Path, start: Start) -> None:
    (data / "deep/er").chmod(0o555)
    folder = start()
    view = give(folder, "data") / "data"
    assert stat.S_IMODE((view / "deep/er").stat().st_mode) == 0o555
    assert (view / "deep/er/tool").exists()
    (data / "deep/er").chmod(0o755)
    folder.remove()
    assert not view.exists()


def test_a_single_file_and_a_path_that_is_itself_a_link(data: Path, start: Start, tmp_path: Path) -> None:
    repo = data.parent
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk/big").write_text("far away")
    (repo / "one.bin").write_text("1")
    (repo / "cache").symlink_to(tmp_path / "disk")
    worktree = give(start(), "one.bin", "cache")
    (worktree / "one.bin").write_text("2")
    (worktree / "cache/big").write_text("changed")
    assert (repo / "one.bin").read_text() == "1"
    assert (tmp_path / "disk/big").read_text() == "far away"


def test_a_view_is_made_again_only_when_it_is_missing(data: Path, start: Start) -> None:
    folder = start()
    view = give(folder, "data") / "data"
    (view / "corpus.md").write_text("mine")
    give(folder, "data")
    assert (view / "corpus.md").read_text() == "mine"
    (view / "secret").chmod(0o600)
    delete_entry(view)
    give(folder, "data")
    assert (view / "corpus.md").read_text() == "line\n" * 1000
    assert folder.removable() is None


def test_a_view_is_whole_or_not_there(data: Path, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = start()
    worktree = folder.place.worktree
    (worktree / f"{UNFINISHED}of-a-killed-one").mkdir()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "corpus.md")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", full)
        with pytest.raises(HerdrError, match=r"data could not be copied .*No space left on device: corpus\.md"):
            give(folder, "data")
    assert not (worktree / "data").exists()
    assert not list(worktree.glob(f"{UNFINISHED}*"))
    assert (give(folder, "data") / "data/corpus.md").exists()


def test_what_is_too_big_to_copy_is_the_persons_own(
    data: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linked, "COPY_LIMIT", 1000)
    worktree = give(start(), "data")
    assert (worktree / "data").readlink() == data
    assert view_of("data", data, data.parent, write=False).form == "borrowed"


def test_what_is_meant_to_be_shared_is_a_symlink(data: Path, start: Start) -> None:
    (data.parent / "cache").mkdir()
    worktree = give(start(), "data", "cache", shared=("cache",))
    (worktree / "cache/x").write_text("for all")
    assert (data.parent / "cache/x").read_text() == "for all"
    assert not (worktree / "data").is_symlink()
    assert not (worktree / "workspace").exists()


def test_a_virtual_environment_is_never_copied(data: Path, start: Start) -> None:
    environment = data.parent / ".venv"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert (give(start(), ".venv") / ".venv").readlink() == environment
    assert view_of(".venv", environment, data.parent, write=False).form == "borrowed"


def test_a_view_over_a_tracked_path_is_refused(data: Path, start: Start) -> None:
    with pytest.raises(RefusedError, match="already there"):
        give(start(), "lib")
    assert data.exists()


def test_a_clone_is_taken_where_the_file_system_has_it(
    data: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it has none, the ioctl's place is taken by one that copies, to see that it is asked for each file."""
    asked: list[int] = []

    def clone(target: int, request: int, source: int) -> int:
        assert request == FICLONE
        asked.append(source)
        os.lseek(source, 0, os.SEEK_SET)
        while block := os.read(source, 4096):
            os.write(target, block)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", clone)
    # No limit holds for what takes no room.
    monkeypatch.setattr(linked, "COPY_LIMIT", 1)
    assert can_clone(data, data.parent)
    asked.clear()
    worktree = give(start(), "data")
    assert (worktree / "data/corpus.md").read_text() == "line\n" * 1000
    assert len(asked) == 1 + 3
    (worktree / "data/corpus.md").write_text("short")
    assert (data / "corpus.md").read_text() == "line\n" * 1000


def test_the_real_ioctl_says_no_or_makes_a_file_of_its_own(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("a" * 100_000)
    with source.open("rb") as original, target.open("xb") as copy:
        try:
            fcntl.ioctl(copy.fileno(), FICLONE, original.fileno())
        except OSError as error:
            assert error.errno in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY, errno.EXDEV, errno.ENOSYS)  # noqa: PT017
            assert not can_clone(source, tmp_path)
            return
    assert can_clone(source, tmp_path)
    target.write_text("b")
    assert source.read_text() == "a" * 100_000


def test_a_symlink_out_of_the_folder_is_named(data: Path, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("r")
    (data / "raw").symlink_to(tmp_path / "raw")
    (data / "script").symlink_to(data.parent / "solve.py")
    found = view_of("data", data, data.parent, write=False).survey
    assert found is not None
    assert set(found.outside) == {tmp_path / "raw", data.parent / "solve.py"}


def test_a_folder_with_a_foreign_view_file(data: Path, start: Start) -> None:
    """An agent may have put anything in the place of the file that names the views."""
    folder = start()
    place: Isolated = folder.place
    (place.repository / "herdr-views").mkdir()
    with pytest.raises(HerdrError):
        give(folder, "data")
    assert data.exists()
