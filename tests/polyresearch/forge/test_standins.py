"""What only one of the stand-ins can show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from herdr_polyresearch.forge.base import AccessError, UnreachableError

pytestmark = pytest.mark.timeout(300)


def test_an_issue_that_landed_behind_a_timeout_is_opened_once(make_place: Callable[..., Any]) -> None:
    """myworld opens the issue and then answers 504; a client that repeats by itself makes two."""
    fault = {"tool": "github.issues.create", "kind": "timeout_after_commit", "on_call": 1}
    place = make_place("myworld", [fault])
    lead = place.open("lead")
    made = lead.create_issue("one", "text", labels=["thesis"])
    assert [issue.number for issue in lead.snapshot().issues] == [made.number]
    assert made.body == "text"


def test_a_comment_that_landed_behind_a_timeout_is_posted_once(make_place: Callable[..., Any]) -> None:
    fault = {"tool": "github.issues.createComment", "kind": "timeout_after_commit", "on_call": 1}
    place = make_place("myworld", [fault])
    number = place.open("lead").create_issue("one", "", labels=["thesis"]).number
    posted = place.open("alice").comment(number, "hello")
    assert place.open("lead").comments(number) == (posted,)


def test_a_token_that_nobody_has_is_refused(make_place: Callable[..., Any]) -> None:
    place = make_place("myworld")
    place.tokens["nobody"] = "ghp_nobody"
    with pytest.raises(AccessError, match="does not accept the token"):
        place.open("nobody").snapshot()


def test_a_wrong_certificate_stops_everything(
    make_place: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_place("myworld")
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    with pytest.raises(UnreachableError, match="certificate"):
        place.open("lead", clock=quick()).snapshot()


def quick() -> Any:
    """A clock that does not wait."""
    from herdr_polyresearch.forge.waiting import Clock

    return Clock(sleep=lambda _: None, say=lambda _: None)


def test_the_quota_is_told(make_place: Callable[..., Any]) -> None:
    place = make_place("emulate")
    status = place.open("lead").rate_status()
    assert status.limit == 5000
    assert status.remaining is not None
    assert 0 < status.remaining <= 5000
    assert status.resets_at is not None


@pytest.mark.parametrize(("ci", "outcome"), [("true", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_stand_in_that_cannot_be_had_fails_only_where_ci_runs(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException], missing: Callable[[str, str], None]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="emulate cannot be had: no node"):
        missing("emulate", "no node")
