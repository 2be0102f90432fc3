"""Where things live, and what is said when they cannot."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from pathlib import Path

import pytest

from herdr.errors import HerdrError
from herdr.home import Home, atomic_write, disk_error


def home_at(root: Path) -> Home:
    return Home.from_environ({"HOME": "/nowhere", "PILOOP_HOME": str(root)})


def test_the_default_home_has_the_plain_socket_name() -> None:
    user = pwd.getpwuid(os.getuid()).pw_dir
    home = Home.from_environ({"HOME": user})
    assert (home.root, home.socket_name) == (Path(user, ".piloop"), "herdr")
    named = {"HOME": "/home/a", "PILOOP_HOME": f"{user}/.piloop"}
    assert Home.from_environ(named).socket_name == "herdr"
    assert Home.from_environ({"HOME": user, "PILOOP_HOME": ""}) == home


def test_another_home_variable_gives_another_socket() -> None:
    first, second = Home.from_environ({"HOME": "/home/a"}), Home.from_environ({"HOME": "/home/b"})
    assert first.root == Path("/home/a/.piloop")
    assert len({first.socket_name, second.socket_name, "herdr"}) == 3


def test_without_a_home_variable_the_users_own_is_taken() -> None:
    assert Home.from_environ({}).root == Path.home() / ".piloop"


def test_another_home_has_a_socket_name_of_its_own(tmp_path: Path) -> None:
    first, second = home_at(tmp_path / "a"), home_at(tmp_path / "b")
    assert first.socket_name != second.socket_name
    name, digest = first.socket_name.split("-")
    assert (name, len(bytes.fromhex(digest))) == ("herdr", 4)
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert home_at(tmp_path / "link").socket_name == first.socket_name


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert home_at(Path("h")).root == tmp_path / "h"


def test_everything_is_inside_and_known_as_ours(tmp_path: Path) -> None:
    home = home_at(tmp_path / "h").ensure()
    files = [home.database, home.lock, home.log, home.tmux_conf]
    folders = [home.backups, home.agent_dir(3), home.evaluation_dir(4), home.workspace("p")]
    assert len({*files, *folders}) == 8
    for folder in folders:
        folder.mkdir(parents=True)
    for file in [*files, home.root / "herdr.db-wal", home.root / "herdr.log.1"]:
        file.touch()
    assert home.foreign_files() == []


def test_files_of_another_tool_are_named_and_left_alone(tmp_path: Path) -> None:
    home = home_at(tmp_path)
    for name in ("serve.pid", "piloop.db", "herdr.dbx", "agents2"):
        (tmp_path / name).write_text("theirs")
    assert [path.name for path in home.ensure().foreign_files()] == [
        "agents2",
        "herdr.dbx",
        "piloop.db",
        "serve.pid",
    ]
    assert (tmp_path / "serve.pid").read_text() == "theirs"


def test_a_home_that_does_not_exist_has_no_foreign_files(tmp_path: Path) -> None:
    assert home_at(tmp_path / "h").foreign_files() == []


def test_the_home_is_made_private(tmp_path: Path) -> None:
    root = tmp_path / "a" / "b"
    assert home_at(root).ensure().root == root
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    root.chmod(0o755)
    home_at(root).ensure()
    assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_a_file_in_place_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "h").write_text("")
    with pytest.raises(HerdrError, match="h: it exists and is not a folder") as caught:
        home_at(tmp_path / "h").ensure()
    assert caught.value.fix


def test_a_file_in_the_way_to_the_home(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(HerdrError, match="a part of the path is not a folder"):
        home_at(tmp_path / "f" / "h").ensure()
    assert home_at(tmp_path / "f" / "h").foreign_files() == []


def test_a_dangling_link_in_place_of_the_home(tmp_path: Path) -> None:
    (tmp_path / "h").symlink_to(tmp_path / "gone")
    with pytest.raises(HerdrError, match="it exists and is not a folder"):
        home_at(tmp_path / "h").ensure()


def test_a_home_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Giving a file away takes root; being asked as somebody else does not.
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(HerdrError, match=r"belongs to another user \(uid \d+\)"):
        home_at(tmp_path).ensure()


def test_a_home_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Root may write anywhere, so no permission bits can show this.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(HerdrError, match="permission denied"):
        home_at(tmp_path).ensure()


def test_a_read_only_file_system(tmp_path: Path) -> None:
    with pytest.raises(HerdrError, match="cannot write /proc/herdr-home: ") as caught:
        home_at(Path("/proc/herdr-home")).ensure()
    assert caught.value.fix


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "permission denied"),
        (errno.ENOTDIR, "a part of the path is not a folder"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_errors_of_the_disk_in_words(number: int, words: str) -> None:
    error = disk_error(OSError(number, os.strerror(number)), Path("/x/y"))
    assert str(error) == f"cannot write /x/y: {words}"
    assert error.fix


def test_a_write_replaces_the_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "f"
    atomic_write(path, "old")
    held = path.open()
    atomic_write(path, b"new \xff")
    with held:
        assert held.read() == "old"
    assert path.read_bytes() == b"new \xff"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_mode_is_kept_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        atomic_write(tmp_path / "f", "x", mode=0o755)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o755


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    atomic_write(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HerdrError, match="f: the disk is full"):
        atomic_write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_writing_into_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(HerdrError, match="No such file or directory"):
        atomic_write(tmp_path / "no" / "f", "x")
