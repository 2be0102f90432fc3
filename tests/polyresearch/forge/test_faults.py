"""What happens when GitHub fails: nothing is posted twice, nothing is lost, and the message says what to do."""

from __future__ import annotations

import multiprocessing
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from herdr_polyresearch.forge.base import (
    AccessError,
    ForgeError,
    MissingError,
    QuotaError,
    RejectedError,
    UnreachableError,
    WriteUnknownError,
)

Hub = Any
Open = Callable[..., Any]
COMMENTS = r".*/comments"
UNCLEAR = [500, 502, 503, 504, "drop", "broken", "html"]


@pytest.fixture
def fault(hub: Hub) -> Callable[..., None]:
    """`fault(502, after=True)` makes the next POST of a comment fail so."""
    kind = type(hub).__module__
    make = __import__("sys").modules[kind].Fault

    def add(*args: Any, **options: Any) -> None:
        hub.faults.append(make(*args, **options))

    return add


@pytest.fixture
def lead(hub: Hub, open_hub: Open) -> Any:
    """The lead, on a repository with one thesis."""
    hub.new_issue("lead", {"title": "one", "labels": ["thesis"]})
    forge = open_hub("lead")
    forge.whoami()
    hub.requests.clear()
    return forge


def posts(hub: Hub) -> int:
    """How many changes were sent."""
    return sum(not line.startswith("GET") for line in hub.requests)


def bodies(hub: Hub) -> list[str]:
    """The texts that are there."""
    return [row["body"].split("\n\n<!-- nonce")[0] for row in hub.comments.values()]


# --- a write without an answer ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", UNCLEAR)
def test_a_write_that_took_effect_before_it_failed_is_not_repeated(
    hub: Hub, lead: Any, fault: Callable[..., None], kind: Any
) -> None:
    fault(kind, path=COMMENTS, after=True)
    comment = lead.comment(1, "hello")
    assert bodies(hub) == ["hello"]
    assert (comment.id, comment.body, comment.author) == (1, "hello", "lead")
    assert posts(hub) == 1


@pytest.mark.parametrize("kind", UNCLEAR)
def test_a_write_that_did_not_take_effect_is_made_after_all(
    hub: Hub, lead: Any, fault: Callable[..., None], clock: Any, kind: Any
) -> None:
    fault(kind, path=COMMENTS)
    lead.comment(1, "hello")
    assert bodies(hub) == ["hello"]
    assert posts(hub) == 2
    assert any("comment on #1" in line for line in clock.told)


def test_a_slow_server_that_takes_a_write_later_gets_it_once(
    hub: Hub, open_hub: Open, lead: Any, fault: Callable[..., None], clock: Any
) -> None:
    fault("slow", path=COMMENTS, after=True)

    def finish() -> None:
        hub.released.set()
        assert hub.slow_done.wait(10)

    clock.during = finish
    open_hub("lead", timeout=1).comment(1, "hello")
    assert bodies(hub) == ["hello"]


def test_every_kind_of_write_is_found_again(hub: Hub, lead: Any, fault: Callable[..., None]) -> None:
    fault("drop", path=r".*/issues", after=True)
    issue = lead.create_issue("two", "text", labels=["thesis"])
    assert (issue.number, issue.body, len(hub.issues)) == (2, "text", 2)
    fault("drop", path=r".*/pulls", after=True)
    pull = lead.create_pr("pr", "text", head="thesis/1-x", base="main")
    assert (pull.number, pull.body, len(hub.pulls)) == (3, "text", 1)
    fault(502, "PUT", ".*/merge", after=True)
    assert lead.merge_pr(3, expected_sha="a" * 40) == "c" * 40
    fault("drop", "PATCH", ".*/issues/1", after=True)
    lead.close_issue(1)
    assert hub.issues[1]["state"] == "closed"
    assert len([line for line in hub.requests if "merge" in line]) == 1


def test_two_equal_comments_are_two(hub: Hub, lead: Any, fault: Callable[..., None]) -> None:
    lead.comment(1, "same")
    fault("drop", path=COMMENTS)
    lead.comment(1, "same")
    assert bodies(hub) == ["same", "same"]


def test_a_write_that_fails_again_and_again_was_not_made(hub: Hub, lead: Any, fault: Callable[..., None]) -> None:
    fault(502, path=COMMENTS, times=99)
    with pytest.raises(UnreachableError) as caught:
        lead.comment(1, "hello")
    assert bodies(hub) == []
    assert posts(hub) == 3
    assert "comment on #1" in str(caught.value)
    assert "nothing was posted" in str(caught.value.fix)


def test_a_write_that_cannot_be_looked_for_is_said_to_be_unknown(
    hub: Hub, lead: Any, fault: Callable[..., None]
) -> None:
    fault("drop", path=COMMENTS, after=True)
    fault(500, "GET", COMMENTS, times=99)
    with pytest.raises(WriteUnknownError) as caught:
        lead.comment(1, "hello")
    assert bodies(hub) == ["hello"]
    assert posts(hub) == 1
    assert "do not repeat it" in str(caught.value.fix)


def test_a_server_that_is_not_there_is_named(open_hub: Open, clock: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(UnreachableError) as caught:
        open_hub("lead", api=f"http://127.0.0.1:{port}").snapshot()
    assert f"127.0.0.1:{port}: no connection" in str(caught.value)
    assert caught.value.fix


# --- rate limits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [403, 429])
def test_a_write_waits_as_long_as_it_is_told(
    hub: Hub, lead: Any, fault: Callable[..., None], clock: Any, status: int
) -> None:
    message = "You have exceeded a secondary rate limit."
    fault(status, path=COMMENTS, headers={"Retry-After": "42"}, message=message)
    lead.comment(1, "hello")
    assert bodies(hub) == ["hello"]
    assert posts(hub) == 2
    assert 42 <= sum(clock.slept) < 44
    assert any("waiting 42 s" in line for line in clock.told)


def test_a_secondary_limit_without_a_time_waits_longer_each_time(
    hub: Hub, lead: Any, fault: Callable[..., None], clock: Any
) -> None:
    fault(403, path=COMMENTS, message="You have exceeded a secondary rate limit.", times=2)
    lead.comment(1, "hello")
    assert bodies(hub) == ["hello"]
    assert [round(seconds) for seconds in clock.slept] == [60, 120]


def test_the_hourly_limit_is_waited_for_when_it_ends_soon(
    hub: Hub, lead: Any, fault: Callable[..., None], clock: Any
) -> None:
    headers = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800000300"}
    fault(403, "GET", ".*/issues", headers=headers, message="API rate limit exceeded for user ID 1.")
    assert len(lead.snapshot().issues) == 1
    assert 290 < clock.passed < 305
    assert any("hourly rate limit" in line for line in clock.told)


def test_an_hourly_limit_that_ends_late_is_an_error_that_names_the_time(
    hub: Hub, lead: Any, fault: Callable[..., None], open_hub: Open
) -> None:
    headers = {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800003000"}
    fault(403, path=COMMENTS, headers=headers, message="API rate limit exceeded for user ID 1.")
    with pytest.raises(QuotaError) as caught:
        lead.comment(1, "hello")
    assert caught.value.exit_code == 75
    assert caught.value.resets_at is not None
    assert caught.value.resets_at.timestamp() == pytest.approx(1_800_003_001, abs=2)
    assert "nothing was posted" in str(caught.value.fix)
    assert bodies(hub) == []


def test_other_processes_of_the_login_wait_too(
    hub: Hub, lead: Any, fault: Callable[..., None], clock: Any, open_hub: Open
) -> None:
    """A limit is of the login: whoever writes next must not run into it again."""
    fault(429, path=COMMENTS, headers={"Retry-After": "600"})
    clock.during = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        lead.comment(1, "hello")
    clock.during = None
    clock.passed = 0.0
    clock.slept.clear()
    open_hub("lead").comment(1, "other")
    assert 0 < sum(clock.slept) <= 600
    clock.slept.clear()
    open_hub("alice").comment(1, "not limited")
    assert sum(clock.slept) == 0


def test_writes_are_spaced(hub: Hub, open_hub: Open, clock: Any) -> None:
    hub.new_issue("lead", {"title": "one"})
    for n in range(4):
        open_hub("lead", spacing=1.0).comment(1, f"comment {n}")
    assert sum(clock.slept) == pytest.approx(3.0, abs=0.1)


def comment_from_process(url: str, home: Path, n: int) -> None:
    """What one of several processes does."""
    from herdr_polyresearch.forge.address import Address
    from herdr_polyresearch.forge.github import GitHubForge
    from herdr_polyresearch.forge.waiting import Clock

    forge = GitHubForge(
        Address("github.com", "lead", "lab"),
        "tok_lead",
        home=home,
        api=url,
        clock=Clock(say=lambda _: None),
        spacing=0,
    )
    forge.comment(1, f"from {n}")
    forge.close()


def test_processes_of_one_login_write_one_after_the_other(hub: Hub, hub_home: Path, lead: Any) -> None:
    spawn = multiprocessing.get_context("fork")
    processes = [spawn.Process(target=comment_from_process, args=(hub.url, hub_home, n)) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0] * 4
    assert sorted(bodies(hub)) == [f"from {n}" for n in range(4)]


def test_a_write_starts_only_when_the_one_before_it_is_settled(
    hub: Hub, open_hub: Open, lead: Any, fault: Callable[..., None], clock: Any
) -> None:
    fault("slow", path=COMMENTS, after=True)
    writers = [threading.Thread(target=open_hub("lead").comment, args=(1, text)) for text in ("first", "second")]
    writers[0].start()
    until(lambda: posts(hub) == 1)
    writers[1].start()
    until(lambda: any("another process" in line for line in clock.told))
    assert posts(hub) == 1
    hub.released.set()
    for writer in writers:
        writer.join(20)
    assert bodies(hub) == ["first", "second"]


def until(condition: Callable[[], bool]) -> None:
    """Wait for it."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


# --- refusals and reads ----------------------------------------------------------------------------------------


def test_a_token_that_is_not_accepted_says_how_to_log_in(hub: Hub, open_hub: Open) -> None:
    with pytest.raises(AccessError) as caught:
        open_hub(token="nonsense").snapshot()
    assert "does not accept the token" in str(caught.value)
    assert "gh auth login" in str(caught.value.fix)
    assert "GITHUB_TOKEN" in str(caught.value.fix)


def test_a_token_revoked_later_is_noticed(hub: Hub, lead: Any, fault: Callable[..., None]) -> None:
    fault(401, path=COMMENTS, message="Bad credentials")
    with pytest.raises(AccessError):
        lead.comment(1, "hello")
    assert posts(hub) == 1


def test_the_token_of_somebody_else_stops_everything(hub: Hub, open_hub: Open) -> None:
    forge = open_hub("alice", login="lead")
    with pytest.raises(AccessError) as caught:
        forge.snapshot()
    assert "belongs to alice, not to lead" in str(caught.value)
    with pytest.raises(AccessError):
        forge.comment(1, "hello")
    assert posts(hub) == 0


def test_a_refusal_is_not_taken_for_a_limit(hub: Hub, lead: Any, fault: Callable[..., None], clock: Any) -> None:
    fault(403, path=COMMENTS, message="Resource not accessible by personal access token")
    with pytest.raises(AccessError) as caught:
        lead.comment(1, "hello")
    assert "Resource not accessible" in str(caught.value)
    assert caught.value.fix
    assert (posts(hub), clock.slept) == (1, [])


def test_a_validation_error_keeps_githubs_words(hub: Hub, lead: Any, fault: Callable[..., None]) -> None:
    fault(422, path=COMMENTS, message="Validation Failed: body is too long")
    with pytest.raises(RejectedError, match="body is too long"):
        lead.comment(1, "hello")
    assert posts(hub) == 1


@pytest.mark.parametrize("kind", UNCLEAR)
def test_a_read_is_repeated_while_there_is_hope(
    hub: Hub, lead: Any, fault: Callable[..., None], kind: Any
) -> None:
    fault(kind, "GET", ".*/issues", times=3)
    assert len(lead.snapshot().issues) == 1


@pytest.mark.parametrize("kind", UNCLEAR)
def test_a_read_that_fails_leaves_what_was_known(
    hub: Hub, lead: Any, fault: Callable[..., None], kind: Any
) -> None:
    hub.new_comment("alice", 1, {"body": "first"})
    known = lead.snapshot()
    hub.tick(60)
    hub.new_comment("alice", 1, {"body": "second"})
    fault(kind, "GET", ".*/issues/comments", times=4)
    with pytest.raises(UnreachableError) as caught:
        lead.snapshot()
    assert "cannot read from" in str(caught.value)
    assert "nothing was changed" in str(caught.value.fix)
    after = lead.snapshot()
    assert [c.body for c in known.comments[1]] == ["first"]
    assert [c.body for c in after.comments[1]] == ["first", "second"]


def test_an_answer_of_another_shape_is_no_state(hub: Hub, lead: Any) -> None:
    hub.issues[1]["title"] = None
    with pytest.raises(UnreachableError, match="not what GitHub sends"):
        lead.snapshot()


def test_a_write_to_a_renamed_repository_is_not_repeated(hub: Hub, lead: Any, fault: Callable[..., None]) -> None:
    fault(
        307,
        path=COMMENTS,
        message="Moved Permanently",
        headers={"Location": "https://api.github.com/repositories/1"},
    )
    with pytest.raises(MissingError, match="has moved"):
        lead.comment(1, "hello")
    assert posts(hub) == 1


def test_an_issue_that_lost_its_label_is_told(hub: Hub, lead: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    new_issue = hub.new_issue
    monkeypatch.setattr(hub, "new_issue", lambda login, body: new_issue(login, {**body, "labels": []}))
    with pytest.raises(AccessError, match="#2 was opened, but without its labels"):
        lead.create_issue("two", "", labels=["thesis"])


def test_every_error_says_what_to_do(hub: Hub, lead: Any, fault: Callable[..., None]) -> None:
    for status in (400, 401, 403, 404, 405, 409, 410, 418, 422, 451):
        fault(status, path=COMMENTS, message="no")
        with pytest.raises(ForgeError) as caught:
            lead.comment(1, "hello")
        assert caught.value.fix, status
        assert "no" in str(caught.value), status
    assert bodies(hub) == []
