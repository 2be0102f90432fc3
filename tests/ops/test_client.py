"""An agent's way to the campaign, against the daemon's own mailbox."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from herdr.daemon.io.mailbox import empty
from herdr.errors import HerdrError, RefusedError
from herdr.ops import client as module
from herdr.ops.client import DirectClient, MailboxClient, NoAnswerError, connect
from herdr.ops.comment import AddComment, ListComments, ShowComment
from herdr.ops.idea.filing import AddIdea
from herdr.ops.idea.reading import ListIdeas, ShowIdea
from herdr.ops.run import CancelRun
from herdr.ops.sql import RunStatement


@pytest.fixture
def mailbox(campaign: Any) -> Path:
    campaign.agent(campaign.run(campaign.idea()))
    folder: Path = campaign.root / ".worktrees" / "run-1" / ".herdr" / "mailbox"
    for name in ("requests", "answers"):
        (folder / name).mkdir(parents=True)
    return folder


def answered(campaign: Any, mailbox: Path, call: Callable[[], Any]) -> Any:
    """What a call gives while the daemon's side empties the mailbox."""
    outcome: list[Any] = []

    def work() -> None:
        try:
            outcome.append(call())
        except HerdrError as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        empty(campaign.home.database, SimpleNamespace(home=campaign.home), 1, mailbox)  # type: ignore[arg-type]
        thread.join(0.01)
    if isinstance(outcome[0], HerdrError):
        raise outcome[0]
    return outcome[0]


def test_an_agent_gets_its_answers_by_mailbox(campaign: Any, mailbox: Path) -> None:
    agent = connect({"HERDR_MAILBOX": str(mailbox), "HERDR_TOKEN": "the token"}, campaign.root)
    assert agent.agent
    ideas = answered(campaign, mailbox, lambda: agent.ask(ListIdeas()))
    assert [i.ref for i in ideas.ideas] == ["idea#1"]
    added = answered(campaign, mailbox, lambda: agent.ask(AddComment(target="run#1", body="done")))
    assert added.ref == "comment#1"
    assert campaign.as_human(ShowComment(comment="1")).author == "worker#1"
    assert [list((mailbox / name).iterdir()) for name in ("requests", "answers")] == [[], []]


def test_what_the_daemon_refuses_is_the_agents_error(campaign: Any, mailbox: Path) -> None:
    agent = MailboxClient(mailbox, "the token", campaign.root)
    with pytest.raises(HerdrError, match=r"may not use run\.cancel") as error:
        answered(campaign, mailbox, lambda: agent.ask(CancelRun(run="run#1")))
    assert (error.value.exit_code, bool(error.value.fix)) == (1, True)
    with pytest.raises(HerdrError, match="there is no idea#9") as error:
        answered(campaign, mailbox, lambda: agent.ask(ShowIdea(idea="idea#9")))
    assert error.value.exit_code == 2
    stranger = MailboxClient(mailbox, "a guess", campaign.root)
    with pytest.raises(HerdrError, match="token"):
        answered(campaign, mailbox, lambda: stranger.ask(ListIdeas()))


def test_a_request_that_nobody_answers_is_withdrawn(campaign: Any, mailbox: Path) -> None:
    agent = MailboxClient(mailbox, "the token", campaign.root, patience=0.05)
    with pytest.raises(NoAnswerError, match="does not answer"):
        agent.ask(AddComment(target="run#1", body="lost"))
    assert list((mailbox / "requests").iterdir()) == []
    empty(campaign.home.database, SimpleNamespace(home=campaign.home), 1, mailbox)  # type: ignore[arg-type]
    assert campaign.as_human(ListComments()) == []


def test_a_request_that_was_just_taken_is_waited_for(
    campaign: Any, mailbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_withdraw", lambda _request: False)
    agent = MailboxClient(mailbox, "the token", campaign.root, patience=0)
    assert answered(campaign, mailbox, lambda: agent.ask(ListIdeas()))
    monkeypatch.setattr(module, "LAST_PATIENCE", 0.05)
    with pytest.raises(NoAnswerError):
        agent.ask(ListIdeas())


def test_a_mailbox_that_cannot_be_written_is_said(campaign: Any) -> None:
    file = campaign.root / "file"
    file.write_text("")
    with pytest.raises(HerdrError, match="cannot write a request"):
        MailboxClient(file / "mailbox", "t", campaign.root).ask(ListIdeas())


def test_a_person_is_human(campaign: Any) -> None:
    person = connect(os.environ, campaign.root)
    assert isinstance(person, DirectClient)
    person.ask(AddIdea(title="Mine"))
    person.close()
    assert campaign.ask(ShowIdea(idea="1")).idea.source == "human"


def test_a_refused_operation_leaves_nothing_half_done(campaign: Any) -> None:
    with pytest.raises(HerdrError):
        campaign.as_human(AddIdea(title="Half", after=("idea#99",)))
    assert campaign.as_human(ListIdeas()).ideas == []
    with pytest.raises(RefusedError):
        campaign.as_human(RunStatement(statement="DELETE FROM ideas"))
