"""How many requests a read of GitHub takes, and what it must not miss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from herdr_polyresearch.forge.base import MissingError
from herdr_polyresearch.forge.reading import FULL_AGE, REPO_AGE

Hub = Any
Open = Callable[..., Any]


def reads(hub: Hub, forge: Any) -> tuple[Any, list[str]]:
    """A snapshot, and the paths that it took."""
    before = len(hub.requests)
    snapshot = forge.snapshot()
    return snapshot, [line.split("?")[0].removeprefix("GET /repos/lead/lab") for line in hub.requests[before:]]


@pytest.fixture
def lab(hub: Hub, open_hub: Open) -> Any:
    """A forge that has read a repository with two theses, one comment and a pull request, some time ago."""
    for title in ("one", "two"):
        hub.new_issue("lead", {"title": title, "labels": ["thesis"]})
    hub.new_comment("alice", 1, {"body": "first"})
    hub.new_pull("alice", {"title": "pr", "head": "thesis/1-one-attempt-1", "base": "main"})
    hub.tick(60)
    forge = open_hub("lead")
    forge.snapshot()
    hub.tick(60)
    return forge


def test_a_read_of_what_did_not_change_takes_two_requests(hub: Hub, lab: Any, open_hub: Open) -> None:
    snapshot, paths = reads(hub, lab)
    assert paths == ["/issues", "/issues/comments"]
    # Another process starts from the same file.
    assert reads(hub, open_hub("lead")) == (snapshot, ["/issues", "/issues/comments"])


def test_a_read_of_a_big_repository_takes_a_request_for_a_hundred(hub: Hub, open_hub: Open) -> None:
    for n in range(250):
        hub.new_issue("lead", {"title": f"thesis {n}", "labels": ["thesis"]})
        for _ in range(2):
            hub.new_comment("alice", n + 1, {"body": "x"})
    forge = open_hub("lead")
    snapshot, paths = reads(hub, forge)
    assert len(snapshot.issues) == 250
    assert sum(map(len, snapshot.comments.values())) == 500
    assert len([path for path in paths if path.startswith("/issues")]) == 3 + 5
    assert len(paths) == 3 + 5 + 1 + 2 + 1


def test_what_changed_is_read_and_nothing_else(hub: Hub, lab: Any) -> None:
    hub.new_comment("bob", 2, {"body": "new"})
    snapshot, paths = reads(hub, lab)
    assert [c.body for c in snapshot.comments[2]] == ["new"]
    assert [c.body for c in snapshot.comments[1]] == ["first"]
    assert paths == ["/issues", "/issues/comments"]


def test_a_push_to_a_pull_request_is_seen(hub: Hub, lab: Any) -> None:
    hub.push(3, "d" * 40)
    snapshot, paths = reads(hub, lab)
    assert snapshot.pulls[0].head_sha == "d" * 40
    assert paths == ["/issues", "/pulls", "/issues/comments"]


def test_two_changes_in_one_second_are_both_seen(hub: Hub, lab: Any) -> None:
    hub.push(3, "d" * 40)
    lab.snapshot()
    hub.push(3, "e" * 40)
    hub.issues[1]["labels"] = []
    hub.touch(1)
    lab.snapshot()
    hub.issues[1]["labels"] = [{"name": "Thesis"}]
    hub.touch(1)
    snapshot = lab.snapshot()
    assert snapshot.pulls[0].head_sha == "e" * 40
    assert [issue.number for issue in snapshot.issues] == [1, 2]


def test_an_edit_is_seen_and_shown(hub: Hub, lab: Any) -> None:
    hub.comments[1].update(body="changed", updated_at=hub.stamp())
    hub.touch(1)
    (comment,) = lab.snapshot().comments[1]
    assert (comment.body, comment.edited) == ("changed", True)


def test_a_deletion_is_seen_and_remembered(hub: Hub, lab: Any, open_hub: Open) -> None:
    hub.delete_comment(1)
    snapshot, paths = reads(hub, lab)
    assert snapshot.comments.get(1, ()) == ()
    assert [c.body for c in snapshot.deleted] == ["first"]
    assert paths == ["/issues", "/issues/comments", "/issues/1/comments"]
    assert [c.body for c in open_hub("lead").snapshot().deleted] == ["first"]


def test_a_deletion_that_changes_no_thread_is_found_within_a_day(hub: Hub, lab: Any, clock: Any) -> None:
    del hub.comments[1]
    hub.issues[1]["comments"] = 0
    assert len(lab.snapshot().comments[1]) == 1
    clock.passed += FULL_AGE
    snapshot = lab.snapshot()
    assert snapshot.comments.get(1, ()) == ()
    assert [c.body for c in snapshot.deleted] == ["first"]


def test_a_thesis_that_lost_its_label_and_got_it_back_has_all_its_comments(hub: Hub, lab: Any) -> None:
    hub.issues[1]["labels"] = []
    hub.touch(1)
    assert [issue.number for issue in lab.snapshot().issues] == [2]
    hub.tick(60)
    hub.comments[1].update(body="changed meanwhile", updated_at=hub.stamp())
    for _ in range(2):
        hub.touch(1)
        lab.snapshot()
        hub.tick(60)
    hub.issues[1]["labels"] = [{"name": "thesis"}]
    hub.touch(1)
    snapshot = lab.snapshot()
    assert [c.body for c in snapshot.comments[1]] == ["changed meanwhile"]
    assert snapshot.deleted == ()


def test_a_deleted_account_does_not_stop_a_read(hub: Hub, lab: Any) -> None:
    hub.comments[1].update(user=None, updated_at=hub.stamp())
    hub.touch(1)
    assert [c.author for c in lab.snapshot().comments[1]] == ["ghost"]


def test_a_branch_of_a_fork_is_told_from_one_of_ours(hub: Hub, lab: Any) -> None:
    hub.pulls[3]["head"]["repo"] = {"full_name": "mallory/lab"}
    hub.touch(3)
    assert lab.snapshot().pulls[0].head_repo == "mallory/lab"
    hub.pulls[3]["head"].update(repo=None, label="mallory:thesis/1-one-attempt-1")
    hub.touch(3)
    assert lab.snapshot().pulls[0].head_repo == "mallory/lab"


def test_a_damaged_cache_is_read_anew(hub: Hub, lab: Any, hub_home: Path) -> None:
    expected = lab.snapshot()
    (cache,) = hub_home.rglob("lead.cache")
    cache.write_bytes(cache.read_bytes()[:100])
    assert lab.snapshot() == expected


def test_each_login_has_a_cache_of_its_own(hub: Hub, lab: Any, open_hub: Open) -> None:
    _, paths = reads(hub, open_hub("alice"))
    assert "" in paths


def test_the_repository_itself_is_looked_at_once_an_hour(hub: Hub, lab: Any, clock: Any) -> None:
    clock.passed += REPO_AGE
    _, paths = reads(hub, lab)
    assert paths == ["", "/collaborators", "/issues", "/issues/comments"]


@pytest.mark.parametrize("hours", [0, 2])
def test_a_renamed_repository_says_its_new_name(hub: Hub, lab: Any, clock: Any, hours: int) -> None:
    hub.slug = "lead/other"
    hub.new_issue("lead", {"title": "later"})
    clock.passed += hours * 3600
    with pytest.raises(MissingError) as caught:
        lab.snapshot()
    assert "lead/other" in str(caught.value)
    assert "git remote set-url origin" in str(caught.value.fix)


def test_the_clock_of_this_machine_does_not_matter(hub: Hub, lab: Any, clock: Any) -> None:
    clock.passed -= 600
    hub.new_comment("bob", 1, {"body": "new"})
    assert [c.body for c in lab.snapshot().comments[1]] == ["first", "new"]
