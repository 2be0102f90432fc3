"""Who may ask for what: the whole table, so that a new operation cannot come without a decision."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from herdr.errors import RefusedError
from herdr.ops.comment import AddComment, ListComments
from herdr.ops.core import EVERYONE, FAMILIES, OPERATIONS, Context, check
from herdr.ops.sql import RunStatement

ROLES = ("human", "orchestrator", "worker", "research", "watchdog", "lead")
PEOPLE = {"human", "orchestrator"}
READS = {
    "agent.list",
    "candidate.diff",
    "candidate.list",
    "candidate.series",
    "candidate.show",
    "comment.list",
    "comment.show",
    "event.list",
    "history.pack",
    "idea.list",
    "idea.show",
    "inbox.list",
    "inbox.news",
    "project.list",
    "project.live",
    "project.status",
    "run.list",
    "run.show",
    "search.find",
    "sql.run",
    "sql.schema",
}
FOR_PEOPLE = {
    "agent.cancel",
    "apply.find",
    "candidate.remeasure",
    "candidate.verdict",
    "idea.base",
    "idea.edit",
    "idea.link",
    "idea.park",
    "idea.priority",
    "idea.ready",
    "idea.unlink",
    "inbox.ack",
    "inbox.reply",
    "message.get",
    "message.send",
    "project.pause",
    "project.resume",
    "run.cancel",
    "run.requeue",
}
OTHERS_MAY = {
    "candidate.import": PEOPLE | {"research"},
    "candidate.note": PEOPLE | {"research"},
    "comment.add": set(ROLES),
    "idea.add": PEOPLE | {"research", "lead"},
    "idea.approve": {"human"},
    "idea.develop": PEOPLE | {"research", "lead"},
    "idea.reject": PEOPLE | {"research"},
    "idea.seed": PEOPLE | {"research", "lead", "watchdog"},
    "run.collect": {"worker"},
    "orchestrator.revoke": {"human"},
    "orchestrator.token": {"human"},
}


def allowed() -> dict[str, set[str]]:
    table = {name: set(ROLES) for name in READS} | dict.fromkeys(FOR_PEOPLE, PEOPLE)
    return table | OTHERS_MAY


def test_the_table_of_operations_is_this_one(campaign: Any) -> None:
    for family in FAMILIES:
        importlib.import_module(f"herdr.ops.{family}")
    assert set(EVERYONE) == set(ROLES)
    found: dict[str, set[str]] = {}
    for name, operation in OPERATIONS.items():
        for role in ROLES:
            actor = role if role in PEOPLE else f"{role}#1"
            context = Context(conn=campaign.store, home=campaign.home, actor=actor, cwd=campaign.root)
            try:
                check(context, operation)
            except RefusedError:
                continue
            found.setdefault(name, set()).add(role)
    assert found == allowed()


OWN = ("run#1", "idea#1", "candidate#2", "comment#1")
OTHERS = ("run#2", "idea#2", "candidate#1", "candidate#3", "worker#1", "worker#2", "comment#2", "project")


@pytest.fixture
def two_workers(campaign: Any) -> Any:
    for title in ("One", "Two"):
        run = campaign.run(campaign.idea(title))
        campaign.agent(run)
        campaign.commit(run, f"{run}" * 40, 7.0)
    for number in (1, 2):
        campaign.as_human(AddComment(target=f"idea#{number}", body="hello"))
    return campaign


def worker(campaign: Any, number: int) -> Any:
    from herdr.store.rows import Agent, get

    return get(campaign.store, Agent, number)


def test_a_worker_comments_on_its_own_and_on_nothing_else(two_workers: Any) -> None:
    me = worker(two_workers, 1)
    for target in OWN:
        added = two_workers.as_agent(me, AddComment(target=target, body="mine", kind="finding"))
        assert added.target == target
    for target in OTHERS:
        with pytest.raises(RefusedError, match="may comment only on run#1, idea#1"):
            two_workers.as_agent(me, AddComment(target=target, body="not mine"))
    authors = [c.author for c in two_workers.as_human(ListComments(target="run#1"))]
    assert authors == ["worker#1"]


def test_no_agent_decides(two_workers: Any) -> None:
    with pytest.raises(RefusedError, match="may not decide"):
        two_workers.as_agent(worker(two_workers, 1), AddComment(target="run#1", body="x", kind="decision"))
    added = two_workers.as_human(AddComment(target="run#1", body="x", kind="decision"))
    assert added.kind == "decision"


def test_an_agents_sql_reads_only(two_workers: Any) -> None:
    me = worker(two_workers, 1)
    assert two_workers.as_agent(me, RunStatement(statement="SELECT count(*) FROM ideas")).rows == [(2,)]
    with pytest.raises(RefusedError):
        two_workers.as_agent(me, RunStatement(statement="UPDATE ideas SET priority = 0"))
    assert two_workers.as_human(RunStatement(statement="UPDATE ideas SET priority = 0")).changed == 2
