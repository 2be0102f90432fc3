"""The inbox, and waiting for news while others write."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import pytest

from herdr.daemon.io.steering import waiting_for
from herdr.errors import UsageError
from herdr.home import Home
from herdr.ops.comment import AddComment, ListComments, ShowComment
from herdr.ops.core import Context, run
from herdr.ops.idea.filing import AddIdea, PlantSeed
from herdr.ops.inbox import AcknowledgeComments, ListInbox, ReadNews, ReplyToComment
from herdr.ops.project import ShowStatus
from herdr.ops.run import ShowRun
from herdr.ops.search import Search
from herdr.ops.sql import RunStatement, ShowSchema
from herdr.store.connection import open_store, transaction
from herdr.store.rows import Candidate, Comment, Project, get


def test_seeds_come_first_then_the_most_urgent(campaign: Any) -> None:
    campaign.as_human(AddComment(target="project", body="later", kind="escalation", priority=3))
    campaign.as_human(AddComment(target="project", body="now", priority=0))
    campaign.as_human(AddComment(target="project", body="only said"))
    campaign.as_human(AddIdea(title="Maybe", proposed=True))
    campaign.as_human(PlantSeed(hunch="A hunch", provenance="a paper"))
    found = campaign.as_human(ListInbox())
    assert [i.ref for i in found.seeds + found.proposed] == ["idea#2", "idea#1"]
    assert [c.body for c in found.comments] == ["now", "later"]
    assert [c.kind for c in campaign.as_human(ListInbox(kind=("escalation",))).comments] == ["escalation"]
    assert campaign.as_human(ListInbox(limit=1)).left_out == 1
    assert campaign.as_human(ShowStatus())[0].inbox == 2


def test_what_is_acknowledged_or_answered_leaves_it(campaign: Any) -> None:
    for priority in (1, 2, 3):
        campaign.as_human(AddComment(target="project", body=f"p{priority}", kind="escalation", priority=priority))
    assert campaign.as_orchestrator(AcknowledgeComments(comments=("comment#2",))).comments == ["comment#2"]
    assert campaign.as_human(AcknowledgeComments(comments=("2",))).comments == []
    assert get(campaign.store, Comment, 2).acked_by == "orchestrator"
    added = campaign.as_human(ReplyToComment(comment="comment#1", body="do this"))
    assert (added.kind, added.target) == ("decision", "comment#1")
    assert [c.ref for c in campaign.as_human(ListInbox()).comments] == ["comment#3"]
    assert len(campaign.as_human(ListInbox(everything=True)).comments) == 3
    assert campaign.as_human(AcknowledgeComments(up_to="comment#3")).comments == ["comment#3"]
    for wrong in (AcknowledgeComments(), AcknowledgeComments(comments=("comment#99",))):
        with pytest.raises(UsageError):
            campaign.as_human(wrong)


def test_a_thread_is_shown_whole_whatever_its_depth(campaign: Any) -> None:
    worker = campaign.agent(campaign.run(campaign.idea()))
    campaign.as_agent(worker, AddComment(target="run#1", body="help", kind="escalation", priority=1))
    campaign.as_human(ReplyToComment(comment="1", body="try this"))
    campaign.as_agent(worker, AddComment(target="comment#2", body="did not work"))
    campaign.as_human(AddComment(target="comment#1", body="another way"))
    campaign.as_human(ReplyToComment(comment="3", body="and now?", kind="note", priority=4))
    shown = campaign.as_human(ShowComment(comment="comment#3"))
    assert (shown.body, shown.about) == ("did not work", "run#1")
    assert [(e.depth, e.comment.ref) for e in shown.thread] == [
        (0, "comment#1"),
        (1, "comment#2"),
        (2, "comment#3"),
        (3, "comment#5"),
        (1, "comment#4"),
    ]
    assert [c.ref for c in campaign.as_human(ListComments(target="run#1"))] == [
        f"comment#{n}" for n in range(1, 6)
    ]
    assert [c.ref for c in campaign.as_human(ListComments(target="comment#2"))] == [
        "comment#2",
        "comment#3",
        "comment#5",
    ]
    assert len(campaign.as_human(ShowRun(run="run#1")).comments) == 5


def test_an_answer_in_a_thread_is_steering_too(campaign: Any) -> None:
    worker = campaign.agent(campaign.run(campaign.idea()))
    campaign.as_agent(worker, AddComment(target="run#1", body="help", kind="escalation"))
    campaign.as_human(ReplyToComment(comment="1", body="do this"))
    assert [one.body for one in waiting_for(campaign.store, worker.id)] == ["do this"]


def kinds(found: Any) -> list[str]:
    return [event.kind for event in found.events]


def test_news_is_what_others_did_that_matters(campaign: Any) -> None:
    worker = campaign.agent(campaign.run(campaign.idea()))
    cursor = campaign.as_human(ReadNews()).cursor
    campaign.as_human(PlantSeed(hunch="My own", provenance="x"))
    campaign.as_agent(worker, AddComment(target="run#1", body="only a note"))
    assert campaign.as_human(ReadNews(after=cursor)).events == []
    campaign.as_agent(worker, AddComment(target="run#1", body="help", kind="escalation", priority=0))
    campaign.as_orchestrator(PlantSeed(hunch="Another", provenance="x"))
    campaign.as_orchestrator(AddIdea(title="Maybe", proposed=True))
    campaign.as_orchestrator(AddIdea(title="Just an idea"))
    candidate = campaign.commit(1, "c" * 40, 7.0)
    campaign.set(Candidate, candidate, verdict="keep", judged_by="daemon")
    campaign.set(Project, 1, state="stopped", state_reason="target")
    found = campaign.as_human(ReadNews(after=cursor))
    assert kinds(found) == [
        "comment.escalation",
        "idea.added",
        "idea.added",
        "candidate.judged",
        "project.stopped",
    ]
    assert campaign.as_human(ReadNews(after=found.cursor)).events == []


def test_news_in_parts_is_all_of_it(campaign: Any) -> None:
    for number in range(5):
        campaign.as_orchestrator(PlantSeed(hunch=f"Hunch {'abcde'[number]}", provenance="x"))
    cursor, seen, more = 0, 0, True
    while more:
        found = campaign.as_human(ReadNews(after=cursor, limit=2))
        seen, cursor, more = seen + len(found.events), found.cursor, found.more
    assert seen == 5


def test_a_cursor_misses_nothing_while_others_write(campaign: Any) -> None:
    """Writers commit in any order; the reader follows its cursor and sees every comment exactly once."""
    each, writers = 40, 4

    def write(name: int) -> None:
        store = open_store(campaign.home.database, mode="person", actor=f"writer{name}")
        try:
            for number in range(each):
                with transaction(store):
                    body = f"{name}-{number}"
                    Comment.insert(
                        store,
                        project_id=1,
                        target_kind="project",
                        target_id=1,
                        kind="escalation",
                        body=body,
                        priority=1,
                        actor=f"writer{name}",
                    )
        finally:
            store.close()

    threads = [threading.Thread(target=write, args=(name,)) for name in range(writers)]
    cursor = campaign.as_human(ReadNews()).cursor
    for thread in threads:
        thread.start()
    seen: list[str] = []
    while True:
        alive = any(thread.is_alive() for thread in threads)
        found = campaign.as_human(ReadNews(after=cursor, limit=3))
        seen += [event.target for event in found.events]
        cursor = found.cursor
        if not alive and not found.events:
            break
    written = [f"comment#{row[0]}" for row in campaign.store.execute("SELECT id FROM comments ORDER BY id")]
    assert len(written) == each * writers
    assert seen == written


def test_a_rolled_back_change_is_no_news_and_hides_none(campaign: Any) -> None:
    cursor = campaign.as_human(ReadNews()).cursor
    with contextlib.suppress(UsageError), transaction(campaign.store):
        campaign.idea("Undone", status="seed", actor="orchestrator")
        raise UsageError("changed my mind")
    campaign.as_orchestrator(PlantSeed(hunch="A hunch", provenance="x"))
    assert kinds(campaign.as_human(ReadNews(after=cursor))) == ["idea.added"]


def test_search_finds_words_in_any_form(campaign: Any) -> None:
    campaign.idea("Gradient boosting", hypothesis="Trees generalise")
    campaign.idea("Linear model")
    campaign.as_human(AddComment(target="idea#2", body="the tree was better, by far"))
    found = campaign.as_human(Search(words="tree"))
    assert {hit.ref for hit in found} == {"idea#1", "comment#1"}
    assert [hit.ref for hit in campaign.as_human(Search(words="boosted grad"))] == ["idea#1"]
    assert [hit.title for hit in campaign.as_human(Search(words="FAR better", what="comments"))] == ["idea#2"]
    assert campaign.as_human(Search(words="trees AND nothing")) == []
    assert campaign.as_human(Search(words='tr* OR "x')) == []
    with pytest.raises(UsageError, match="no word"):
        campaign.as_human(Search(words="?! *"))
    agent = campaign.agent(campaign.run(2))
    assert len(campaign.as_agent(agent, Search(words="tree"))) == 2
    match = "SELECT rowid FROM ideas_fts WHERE ideas_fts MATCH 'boosting'"
    assert campaign.as_agent(agent, RunStatement(statement=match)).rows == [(1,)]


def test_the_schema_says_how_to_ask(campaign: Any) -> None:
    agent = campaign.agent(campaign.run(campaign.idea()))
    told = campaign.as_agent(agent, ShowSchema())
    tables = "\n".join(told.tables)
    assert "CREATE TABLE ideas" in tables
    assert "CREATE VIRTUAL TABLE comments_fts" in tables
    assert "CREATE TABLE tokens" not in tables
    statements = [part for part in told.guide.split("\n\n") if part.startswith("    SELECT")]
    assert len(statements) >= 6
    for statement in statements:
        for one in statement.split("\n    SELECT")[:]:
            text = one if one.strip().startswith("SELECT") else f"SELECT{one}"
            campaign.as_agent(agent, RunStatement(statement=text))


def test_all_projects_are_meant_where_none_is(campaign: Any) -> None:
    campaign.store.execute(
        "INSERT INTO projects (name, path, config, actor) SELECT 'other', '/other', config, 'human' FROM projects"
    )
    campaign.idea("Theirs", project_id=2, status="seed")
    campaign.idea("Ours", status="seed")
    here = Context(conn=campaign.store, home=Home.from_environ({}), actor="human", cwd=campaign.root)
    anywhere = Context(conn=campaign.store, home=Home.from_environ({}), actor="human", cwd=campaign.root.parent)
    assert [i.title for i in run(here, ListInbox()).seeds] == ["Ours"]
    assert [i.title for i in run(anywhere, ListInbox()).seeds] == ["Theirs", "Ours"]
    Project.update(campaign.store, 2, state="paused", actor="daemon")
    assert kinds(run(anywhere, ReadNews(after=0)))[-1] == "project.paused"
    assert "project.paused" not in kinds(run(here, ReadNews(after=0)))
