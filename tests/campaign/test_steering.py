from __future__ import annotations

from typing import Any

import pytest

from herdr.campaign.steering import may_steer, role_of


@pytest.mark.parametrize(
    ("kind", "author", "answer"),
    [
        ("note", "human", True),
        ("finding", "human", True),
        ("decision", "orchestrator", True),
        ("note", "research#3", True),
        ("note", "watchdog#3", True),
        ("note", "lead#1", True),
        # An escalation is for people.
        ("escalation", "human", False),
        # What a worker says is data for others, and the daemon's notes are for people.
        ("note", "worker#3", False),
        ("finding", "worker#12", False),
        ("note", "daemon", False),
        ("decision", "daemon", False),
    ],
)
def test_who_may_steer_an_agent(kind: Any, author: str, answer: bool) -> None:
    assert may_steer(kind, author) is answer


@pytest.mark.parametrize(("author", "role"), [("worker#12", "worker"), ("human", "human"), ("a#b#c", "a")])
def test_the_role_of_an_author(author: str, role: str) -> None:
    assert role_of(author) == role
