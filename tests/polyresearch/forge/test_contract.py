"""What every forge does, whatever it is made of. A gap is a capability that it does not declare."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from herdr_polyresearch.forge.base import (
    AccessError,
    ConflictError,
    Forge,
    MissingError,
    RejectedError,
    StaleHeadError,
)

pytestmark = pytest.mark.timeout(300)

Place = Any
BRANCH = "thesis/1-idea-attempt-1"
BODY = (
    "Polyresearch claim: thesis #1 by node `alice/n1`.\n\n<!-- polyresearch:claim\nthesis: 1\nnode: alice/n1\n-->"
)


def open_pr(place: Place, files: dict[str, str | None] | None = None) -> tuple[Forge, int, str]:
    """A pull request of alice's; gives the lead's forge, its number and its head."""
    sha = place.push(BRANCH, files or {"train.py": "x = 2\n"})
    pull = place.open("alice").create_pr("Thesis #1: idea", "References #1", head=BRANCH, base="main")
    return place.open("lead"), pull.number, sha


def test_it_is_a_forge_and_knows_who_asks(place: Place) -> None:
    lead, alice = place.open("lead"), place.open("alice")
    assert isinstance(lead, Forge)
    assert (lead.whoami(), alice.whoami()) == ("lead", "alice")
    assert lead.repo().default_branch == "main"
    assert lead.repo().full_name.endswith(getattr(place, "slug", "local/lab"))


def test_an_issue_comes_back_as_it_was_opened(place: Place) -> None:
    made = place.open("lead").create_issue("Über: 日本 #1", "line\n\n- ünï <b>\n", labels=["thesis"])
    found = place.open("alice").issue(made.number)
    assert found == made
    assert (found.title, found.body, found.author, found.state) == (
        "Über: 日本 #1",
        "line\n\n- ünï <b>\n",
        "lead",
        "open",
    )
    assert found.labels == ("thesis",)
    assert abs(found.created_at - datetime.now(timezone.utc)) < timedelta(minutes=5)
    assert found.created_at.microsecond == 0


def test_issues_and_pull_requests_share_their_numbers(place: Place) -> None:
    lead = place.open("lead")
    first = lead.create_issue("one", "", labels=["thesis"]).number
    _, second, _ = open_pr(place)
    third = lead.create_issue("two", "").number
    assert (second, third) == (first + 1, first + 2)


def test_a_comment_comes_back_as_it_was_posted(place: Place) -> None:
    number = place.open("lead").create_issue("one", "", labels=["thesis"]).number
    alice, bob = place.open("alice"), place.open("bob")
    posted = [
        alice.comment(number, BODY),
        bob.comment(number, "/approve ünï\n\nmore"),
        alice.comment(number, BODY),
    ]
    found = place.open("lead").comments(number)
    assert list(found) == posted
    assert [(c.author, c.body, c.thread, c.edited) for c in found] == [
        ("alice", BODY, number, False),
        ("bob", "/approve ünï\n\nmore", number, False),
        ("alice", BODY, number, False),
    ]
    assert len({c.id for c in found}) == 3


def test_an_edited_comment_shows_that_it_was_edited(place: Place) -> None:
    place.needs("edit_comment")
    lead = place.open("lead")
    number = lead.create_issue("one", "", labels=["thesis"]).number
    comment = lead.comment(number, "before")
    before = lead.snapshot()
    if place.kind != "local":
        wait_a_second()
    lead.edit_comment(comment.id, "after")
    (found,) = lead.snapshot().comments[number]
    assert before.comments[number][0].body == "before"
    assert (found.id, found.body, found.edited) == (comment.id, "after", True)


def wait_a_second() -> None:
    """Let the forge's clock, which has whole seconds, move on."""
    start = datetime.now(timezone.utc).replace(microsecond=0)
    while datetime.now(timezone.utc).replace(microsecond=0) == start:
        pass


def test_a_deleted_comment_is_noticed(place: Place) -> None:
    place.needs("delete_comment")
    lead = place.open("lead")
    number = lead.create_issue("one", "", labels=["thesis"]).number
    gone, kept = lead.comment(number, "gone"), lead.comment(number, "kept")
    assert [c.id for c in lead.snapshot().comments[number]] == [gone.id, kept.id]
    lead.delete_comment(gone.id)
    after = lead.snapshot()
    assert [c.id for c in after.comments[number]] == [kept.id]
    assert [c.id for c in after.deleted] == [gone.id]
    assert [c.id for c in lead.comments(number)] == [kept.id]


def test_closing_and_reopening_can_be_repeated(place: Place) -> None:
    lead = place.open("lead")
    number = lead.create_issue("one", "", labels=["thesis"]).number
    lead.close_issue(number, reason="not_planned")
    lead.close_issue(number)
    closed = lead.issue(number)
    assert (closed.state, closed.state_reason) == ("closed", "not_planned")
    assert closed.closed_at is not None
    lead.reopen_issue(number)
    lead.reopen_issue(number)
    assert (lead.issue(number).state, lead.issue(number).closed_at) == ("open", None)
    lead.close_issue(number)
    assert lead.snapshot().issues[0].state == "closed"


def test_labels_make_a_thesis(place: Place) -> None:
    lead = place.open("lead")
    thesis = lead.create_issue("thesis", "", labels=["thesis"]).number
    other = lead.create_issue("other", "").number
    lead.comment(other, "early")
    assert [issue.number for issue in lead.snapshot().issues] == [thesis]
    lead.add_labels(other, ["thesis", "extra"])
    lead.add_labels(other, ["thesis"])
    snapshot = lead.snapshot()
    assert [issue.number for issue in snapshot.issues] == [thesis, other]
    assert [comment.body for comment in snapshot.comments[other]] == ["early"]
    lead.remove_label(other, "thesis")
    lead.remove_label(other, "thesis")
    assert lead.issue(other).labels == ("extra",)


def test_people_are_assigned(place: Place) -> None:
    place.needs("assign")
    lead = place.open("lead")
    number = lead.create_issue("one", "", labels=["thesis"]).number
    lead.assign(number, ["alice"])
    lead.assign(number, ["alice", "bob"])
    assert sorted(lead.issue(number).assignees) == ["alice", "bob"]


def test_a_pull_request_comes_back_as_it_was_opened(place: Place) -> None:
    lead, number, sha = open_pr(place)
    pull = lead.pull(number)
    assert (pull.author, pull.head_ref, pull.head_sha, pull.base_ref) == ("alice", BRANCH, sha, "main")
    assert (pull.title, pull.body, pull.state, pull.head_repo) == (
        "Thesis #1: idea",
        "References #1",
        "open",
        None,
    )
    lead.comment(number, "hello")
    snapshot = lead.snapshot()
    assert snapshot.pulls == (pull,)
    assert [comment.body for comment in snapshot.comments[number]] == ["hello"]


def test_pull_requests_are_listed_newest_first(place: Place) -> None:
    _, first, _ = open_pr(place)
    place.push("thesis/2-more", {"new.py": "y = 1\n"})
    second = place.open("bob").create_pr("more", "", head="thesis/2-more", base="main").number
    assert [pull.number for pull in place.open("lead").snapshot().pulls] == [second, first]


def test_a_pull_request_needs_commits_and_is_the_only_one_of_its_branch(place: Place) -> None:
    place.needs("rejects_empty_pull")
    lead, number, _ = open_pr(place)
    with pytest.raises(RejectedError):
        lead.create_pr("again", "", head=BRANCH, base="main")
    with pytest.raises(RejectedError):
        lead.create_pr("none", "", head="thesis/9-not-pushed", base="main")
    with pytest.raises(RejectedError):
        lead.create_pr("empty", "", head="main", base="main")
    lead.close_pr(number)
    assert lead.create_pr("again", "", head=BRANCH, base="main").number == number + 1


def test_the_head_follows_pushes(place: Place) -> None:
    place.needs("follows_pushes")
    lead, number, first = open_pr(place)
    assert lead.snapshot().pulls[0].head_sha == first
    second = place.push(BRANCH, {"train.py": "x = 3\n"})
    assert lead.pull(number).head_sha == second != first


def test_changed_files_are_all_named(place: Place) -> None:
    place.needs("changed_files")
    lead, number, _ = open_pr(place, {"train.py": "x = 2\n", "new.py": "y\n"})
    place.push("main", {"other.py": "not of the pull request\n"})
    assert {(f.path, f.status) for f in lead.changed_files(number)} == {
        ("train.py", "modified"),
        ("new.py", "added"),
    }


def test_a_merge_keeps_both_sides(place: Place) -> None:
    place.needs("conflicts")
    lead, number, sha = open_pr(place)
    place.push("main", {"other.py": "of main\n"})
    merged = lead.merge_pr(number, expected_sha=sha, message="why")
    pull = lead.pull(number)
    assert (pull.state, pull.merge_sha) == ("merged", merged)
    assert pull.merged_at is not None
    assert place.read("main") == {**FILES_AFTER, "other.py": "of main\n"}
    assert lead.snapshot().pulls[0].state == "merged"
    # What a crash between the merge and the decision leaves is repaired by asking again.
    assert place.open("lead").merge_pr(number, expected_sha=sha) == merged


FILES_AFTER = {"README.md": "# lab\n", "train.py": "x = 2\n", "gone.py": "old\n"}


def test_a_conflict_is_refused_and_changes_nothing(place: Place) -> None:
    place.needs("conflicts")
    lead, number, sha = open_pr(place)
    place.push("main", {"train.py": "x = 5\n"})
    with pytest.raises(ConflictError) as caught:
        lead.merge_pr(number, expected_sha=sha)
    assert caught.value.fix
    assert lead.pull(number).state == "open"
    assert place.read("main")["train.py"] == "x = 5\n"


def test_a_head_that_moved_is_not_merged(place: Place) -> None:
    place.needs("expected_sha")
    lead, number, first = open_pr(place)
    place.push(BRANCH, {"train.py": "x = 3\n"})
    with pytest.raises(StaleHeadError):
        lead.merge_pr(number, expected_sha=first)
    assert lead.pull(number).state == "open"
    assert place.read("main")["train.py"] == "x = 1\n"


def test_a_closed_pull_request_is_not_merged(place: Place) -> None:
    lead, number, sha = open_pr(place)
    lead.close_pr(number)
    lead.close_pr(number)
    assert lead.pull(number).state == "closed"
    with pytest.raises(ConflictError):
        lead.merge_pr(number, expected_sha=sha)


def test_what_is_not_there_is_named(place: Place) -> None:
    lead = place.open("lead")
    for look in (lead.issue, lead.pull, lead.comments):
        with pytest.raises(MissingError):
            look(4711)
    with pytest.raises(MissingError):
        lead.comment(4711, "hello")


def test_a_branch_is_deleted_once(place: Place) -> None:
    lead, number, _ = open_pr(place)
    lead.close_pr(number)
    lead.delete_branch(BRANCH)
    lead.delete_branch(BRANCH)
    assert place.push(BRANCH, {"train.py": "x = 9\n"})


def test_an_outsider_may_comment_but_not_change(place: Place) -> None:
    place.needs("permissions")
    lead, carol = place.open("lead"), place.open("carol")
    number = lead.create_issue("one", "", labels=["thesis"]).number
    mine = lead.comment(number, "mine")
    carol.comment(number, "/approve")
    changes: tuple[Callable[[], object], ...] = (
        lambda: carol.close_issue(number),
        lambda: carol.add_labels(number, ["x"]),
        lambda: carol.edit_comment(mine.id, "yours"),
        lambda: carol.delete_comment(mine.id),
        lambda: carol.create_issue("two", "", labels=["thesis"]),
    )
    for change in changes:
        with pytest.raises(AccessError) as caught:
            change()
        assert caught.value.fix
    assert [c.body for c in lead.comments(number)] == ["mine", "/approve"]
    assert lead.repo().collaborators == {"lead", "alice", "bob"}


def test_more_than_a_page_of_issues_is_read(place: Place) -> None:
    place.needs("pages")
    lead = place.open("lead")
    numbers = [lead.create_issue(f"thesis {n}", "", labels=["thesis"]).number for n in range(102)]
    assert [issue.number for issue in lead.snapshot().issues] == numbers


def test_more_than_a_page_of_comments_is_read(place: Place) -> None:
    lead = place.open("lead")
    number = lead.create_issue("long", "", labels=["thesis"]).number
    posted = tuple(lead.comment(number, f"comment {n}") for n in range(102))
    assert lead.snapshot().comments[number] == posted
    assert lead.comments(number) == posted


def test_a_warm_read_sees_what_a_cold_one_sees(place: Place, tmp_path: Any) -> None:
    lead, alice = place.open("lead"), place.open("alice")
    one = lead.create_issue("one", "", labels=["thesis"]).number
    two = lead.create_issue("two", "", labels=["thesis"]).number
    lead.snapshot()
    alice.comment(one, BODY)
    lead.close_issue(two)
    _, number, _ = open_pr(place)
    lead.snapshot()
    alice.comment(number, "on the pull request")
    lead.close_pr(number)
    lead.create_issue("three", "", labels=["thesis"])
    warm = lead.snapshot()
    options = {} if place.kind == "local" else {"home": tmp_path / "elsewhere"}
    assert warm == place.open("lead", **options).snapshot()
    assert len(warm.issues) == 3
    assert warm.pulls[0].state == "closed"
