"""Opening what somebody else can have changed."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from herdr.files import Folder, NotPlainError, open_below

pytestmark = pytest.mark.timeout(10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "folder"
    made.mkdir()
    return made


def put_fifo(path: Path) -> None:
    os.mkfifo(path)


def put_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may hold only about 100 bytes
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)
    os.chdir(here)


def put_link(path: Path) -> None:
    (path.parent.parent / "private").write_text("secret")
    path.symlink_to(path.parent.parent / "private")


def put_second_name(path: Path) -> None:
    (path.parent.parent / "private").write_text("secret")
    path.hardlink_to(path.parent.parent / "private")


def put_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("put", [put_fifo, put_socket, put_link, put_second_name, put_large, Path.mkdir])
def test_what_is_no_small_plain_file_is_not_read(folder: Path, put: object) -> None:
    assert callable(put)
    put(folder / "a")
    with Folder.open(folder) as opened, pytest.raises(NotPlainError, match="/a ") as caught:
        opened.read("a", 1000)
    assert "secret" not in str(caught.value)


def test_a_plain_file_is_read(folder: Path) -> None:
    (folder / "a").write_text("x" * 1000)
    with Folder.open(folder) as opened:
        assert opened.read("a", 1000) == b"x" * 1000
        with pytest.raises(FileNotFoundError):
            opened.read("b", 1000)


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc/passwd"])
def test_a_name_leads_nowhere_else(folder: Path, name: str) -> None:
    with Folder.open(folder) as opened:
        for act in (lambda: opened.read(name, 9), lambda: opened.replace(name, b""), lambda: opened.remove(name)):
            with pytest.raises(NotPlainError):
                act()


def test_no_step_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    (folder / "link").symlink_to(other)
    with Folder.open(folder) as opened:
        with pytest.raises(NotPlainError):
            open_below(opened, "link", "inner")
        with pytest.raises(NotPlainError):
            opened.inner("link", make=True)
    with pytest.raises(NotPlainError):
        Folder.open(folder / "link")


def test_a_folder_that_was_put_elsewhere_is_still_the_one(folder: Path, tmp_path: Path) -> None:
    with Folder.open(folder) as opened:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(tmp_path)
        opened.replace("a", b"1")
    assert (tmp_path / "moved" / "a").read_bytes() == b"1"
    assert not (tmp_path / "a").exists()


def test_a_file_replaces_a_link_and_what_it_named_stays(folder: Path) -> None:
    put_link(folder / "a")
    with Folder.open(folder) as opened:
        opened.replace("a", b"1")
        assert opened.read("a", 9) == b"1"
        with pytest.raises(NotPlainError):
            opened.inner("b", make=True).replace("..", b"")
    assert (folder.parent / "private").read_text() == "secret"
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]


def test_a_folder_in_the_place_of_a_file_is_said_and_leaves_no_draft(folder: Path) -> None:
    (folder / "a").mkdir()
    with Folder.open(folder) as opened, pytest.raises(NotPlainError, match="cannot write"):
        opened.replace("a", b"1")
    assert [path.name for path in folder.iterdir()] == ["a"]
