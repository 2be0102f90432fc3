"""Whatever an agent puts into its mailbox, or in its place: the rest is answered, and nothing else touched."""

from __future__ import annotations

import os
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from herdr.daemon.io.mailbox import empty
from herdr.ops.client import MailboxClient
from herdr.ops.comment import ListComments, ShowComment
from herdr.ops.idea.reading import ListIdeas
from tests.ops.test_client import answered, mailbox

pytestmark = pytest.mark.timeout(60)
__all__ = ["mailbox"]


def ask(mailbox: Path, name: str, **more: object) -> None:
    """Put a request for the list of ideas into the mailbox."""
    envelope = {"id": name, "token": "the token", "operation": "idea.list", "arguments": {}, **more}
    (mailbox / "requests" / f"{name}.json").write_bytes(msgspec.json.encode(envelope))


def look(campaign: Any, mailbox: Path) -> None:
    empty(campaign.home.database, SimpleNamespace(home=campaign.home), 1, mailbox)  # type: ignore[arg-type]


def notes(campaign: Any) -> list[str]:
    listed = campaign.as_human(ListComments())
    return [campaign.as_human(ShowComment(comment=one.ref)).body for one in listed]


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unix_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)
    os.chdir(here)


def link_to_secret(path: Path) -> None:
    secret = path.parents[4] / "secret.json"
    secret.write_text('{"id": "secret"}')
    path.symlink_to(secret)


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("put", [fifo, unix_socket, link_to_secret, dangling, Path.mkdir])
def test_what_is_no_file_hides_nothing_and_is_named_once(
    campaign: Any, mailbox: Path, put: Callable[[Path], None]
) -> None:
    put(mailbox / "requests" / "a.json")
    for round_ in range(3):
        ask(mailbox, f"b{round_}")
        look(campaign, mailbox)
    assert sorted(path.name for path in (mailbox / "answers").iterdir()) == ["b0.json", "b1.json", "b2.json"]
    [note] = notes(campaign)
    assert note.startswith("the mailbox of worker#1 is broken: ")
    assert note.endswith("requests/a.json is no plain file")
    assert campaign.as_human(ShowComment(comment="1")).target == "run#1"


#: Deeper than any reader of JSON goes.
NESTED = '{"id": "a", "token": "t", "operation": "", "arguments": {"x": ' + "[" * 500_000


def large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)


def second_name(path: Path) -> None:
    (path.parents[4] / "secret.json").write_text("secret")
    path.hardlink_to(path.parents[4] / "secret.json")


@pytest.mark.parametrize(
    ("put", "said"),
    [
        (large, "holds more than 1048576 bytes"),
        (second_name, "is no plain file"),
        (lambda path: path.write_text("{"), "this is no request"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "this is no request"),
        (lambda path: path.write_text(NESTED), "could not do this: RecursionError"),
        (lambda path: path.write_text('{"id": "a", "token": "t", "operation": "", "arguments": {}}'), "token"),
    ],
)
def test_what_is_no_request_is_answered_with_an_error(
    campaign: Any, mailbox: Path, put: Callable[[Path], None], said: str
) -> None:
    put(mailbox / "requests" / "a.json")
    ask(mailbox, "b")
    look(campaign, mailbox)
    bad, good = (msgspec.json.decode((mailbox / "answers" / f"{name}.json").read_bytes()) for name in "ab")
    assert said in bad["error"]
    assert "secret" not in bad["error"].replace("secret.json", "")
    assert "error" not in good
    assert list((mailbox / "requests").iterdir()) == []


def test_ten_thousand_of_them_hide_nothing(campaign: Any, mailbox: Path) -> None:
    for number in range(5000):
        (mailbox / "requests" / f"d{number}.json").mkdir()
        (mailbox / "requests" / f"{number}.json").write_text("")
    ask(mailbox, "b")
    begin = time.monotonic()
    look(campaign, mailbox)
    assert time.monotonic() - begin < 30
    assert (mailbox / "answers" / "b.json").exists()
    [note] = notes(campaign)
    assert note.endswith("; and more")
    assert len(note) < 1500


def other_folder(campaign: Any) -> Path:
    """A folder of the person's, laid out as a mailbox is."""
    other: Path = campaign.root.parent / "other"
    for name in ("mailbox/requests", "mailbox/answers", "requests", "answers"):
        (other / name).mkdir(parents=True)
    (other / "brief.md").write_text("mine")
    ask(other / "mailbox", "theirs")
    ask(other, "theirs")
    return other


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "part", [".herdr", ".herdr/mailbox", ".herdr/mailbox/requests", ".herdr/mailbox/answers"]
)
def test_no_part_of_it_leads_elsewhere(campaign: Any, mailbox: Path, part: str) -> None:
    ask(mailbox, "b")
    other = other_folder(campaign)
    before = everything(other)
    target = {"requests": other / "requests", "answers": other / "answers", "mailbox": other / "mailbox"}
    path = mailbox.parent.parent / part
    shutil.rmtree(path)
    path.symlink_to(target.get(path.name, other))
    look(campaign, mailbox)
    look(campaign, mailbox)
    assert everything(other) == before
    [note] = notes(campaign)
    assert f"{part} is not a folder but a link" in note


def test_a_worktree_that_is_a_link_is_not_followed(campaign: Any, mailbox: Path) -> None:
    worktree = mailbox.parent.parent
    ask(mailbox, "b")
    worktree.rename(campaign.root.parent / "elsewhere")
    worktree.symlink_to(campaign.root.parent / "elsewhere")
    look(campaign, mailbox)
    assert list((campaign.root.parent / "elsewhere" / ".herdr" / "mailbox" / "answers").iterdir()) == []


@pytest.mark.parametrize("part", ["requests", "answers", "."])
def test_a_deleted_mailbox_is_made_anew_by_the_next_request(campaign: Any, mailbox: Path, part: str) -> None:
    shutil.rmtree((mailbox / part).resolve())
    look(campaign, mailbox)
    client = MailboxClient(mailbox, "the token", campaign.root)
    assert answered(campaign, mailbox, lambda: client.ask(ListIdeas()))
    assert notes(campaign) == []


def test_an_answer_that_cannot_be_written_keeps_the_others_from_nothing(campaign: Any, mailbox: Path) -> None:
    (mailbox / "answers" / "a.json").mkdir()
    ask(mailbox, "a")
    ask(mailbox, "b")
    look(campaign, mailbox)
    assert (mailbox / "answers" / "b.json").is_file()
    assert list((mailbox / "requests").iterdir()) == []
    assert "cannot write" in notes(campaign)[0]
