"""Moves of ideas as people and agents ask for them: who did it, and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from herdr.errors import RefusedError, UsageError
from herdr.ops.agent import CancelAgent, ListAgents
from herdr.ops.comment import ListComments
from herdr.ops.idea.editing import ChangeBase, EditIdea, PrioritiseIdea
from herdr.ops.idea.filing import AddIdea, DevelopSeed, PlantSeed, SimilarIdea
from herdr.ops.idea.linking import LinkIdea, UnlinkIdea
from herdr.ops.idea.moving import ApproveIdea, ParkIdea, ReadyIdea, RejectIdea
from herdr.ops.idea.reading import ListIdeas
from herdr.ops.project import ShowStatus
from herdr.ops.run import RequeueRun
from herdr.store.rows import Agent, Idea, Run, get


def idea(campaign: Any, number: int = 1) -> Idea:
    return get(campaign.store, Idea, number)


def last_event(campaign: Any, kind: str) -> dict[str, Any]:
    row = campaign.store.execute(
        "SELECT actor, payload FROM events WHERE kind = ? ORDER BY id DESC LIMIT 1", (kind,)
    ).fetchone()
    return {"actor": row[0], **json.loads(row[1])}


def sweeper(campaign: Any, role: str = "research", ideas: int = 1) -> Agent:
    campaign.store.execute(
        "INSERT INTO sweeps (project_id, role, trigger, ideas, base_id, harness, actor)"
        " VALUES (1, ?, ?, ?, 1, 'fake', 'daemon')",
        (role, "low_water" if role == "research" else "interval", ideas),
    )
    number = campaign.store.execute("SELECT max(id) FROM sweeps").fetchone()[0]
    agent: Agent = campaign.agent(None, role=role, sweep_id=number)
    return agent


@pytest.mark.parametrize("actor", ["human", "orchestrator"])
def test_a_move_says_who_and_why(campaign: Any, actor: str) -> None:
    ask = campaign.as_human if actor == "human" else campaign.as_orchestrator
    campaign.idea()
    moved = ask(ParkIdea(idea="idea#1", reason="no GPU"))
    assert (moved.old, moved.status, moved.run) == ("ready", "parked", None)
    assert last_event(campaign, "idea.status") == {
        "actor": actor,
        "old": "ready",
        "new": "parked",
        "reason": "no GPU",
    }
    comment = campaign.as_human(ListComments(target="idea#1"))[0]
    assert (comment.kind, comment.author, comment.body) == ("decision", actor, "parked: no GPU")
    ask(ReadyIdea(idea="1"))
    assert last_event(campaign, "idea.status")["reason"] is None
    assert idea(campaign).status == "ready"


def test_only_a_human_approves(campaign: Any) -> None:
    campaign.as_orchestrator(AddIdea(title="Maybe", proposed=True))
    with pytest.raises(RefusedError, match=r"orchestrator may not use idea\.approve"):
        campaign.as_orchestrator(ApproveIdea(idea="1"))
    assert campaign.as_human(ApproveIdea(idea="1", reason="fine")).status == "ready"
    with pytest.raises(RefusedError, match="there is nothing to approve"):
        campaign.as_human(ApproveIdea(idea="1"))


def test_a_person_wins_over_a_run_that_goes_on(campaign: Any) -> None:
    campaign.run(campaign.idea(status="scheduled"))
    assert campaign.as_human(RejectIdea(idea="1")).run == "run#1"
    with pytest.raises(RefusedError, match=r"run#1 of idea#1 is not finished \(running\)"):
        campaign.as_human(ReadyIdea(idea="1"))
    campaign.set(Run, 1, state="succeeded", end_cause="finished", settled_at="2026-01-01T00:00:00.000Z")
    assert campaign.as_human(ReadyIdea(idea="1")).status == "ready"


def test_who_files_what(campaign: Any) -> None:
    worker = campaign.agent(campaign.run(campaign.idea()))
    research, watchdog = sweeper(campaign), sweeper(campaign, "watchdog")
    seed = PlantSeed(hunch="Combine the two", provenance="candidate#1")
    developed = DevelopSeed(idea="1", hypothesis="h", evidence="e", check="c", metric="size", effect="-1")
    for agent, request in (
        (worker, AddIdea(title="x")),
        (worker, seed),
        (worker, developed),
        (watchdog, AddIdea(title="x")),
        (watchdog, developed),
        (research, ParkIdea(idea="1")),
        (research, PrioritiseIdea(idea="1", priority=0)),
    ):
        with pytest.raises(RefusedError, match="may not use"):
            campaign.as_agent(agent, request)
    assert campaign.as_agent(watchdog, seed).status == "seed"
    assert campaign.as_agent(research, AddIdea(title="Mine")).status == "ready"
    assert [i.source for i in campaign.as_human(ListIdeas()).ideas] == ["watchdog#3", "human", "research#2"]


def test_research_files_as_many_ideas_as_its_sweep_may(campaign: Any) -> None:
    campaign.as_human(PlantSeed(hunch="A hunch", provenance="a paper"))
    research = sweeper(campaign, ideas=2)
    developed: dict[str, Any] = {
        "hypothesis": "h",
        "evidence": "e",
        "check": "c",
        "metric": "size",
        "effect": "-1",
    }
    campaign.as_agent(research, DevelopSeed(idea="1", **developed))
    campaign.as_agent(research, PlantSeed(hunch="Another hunch", provenance="idea#1"))
    for title in ("One", "Two"):
        campaign.as_agent(research, AddIdea(title=title))
    with pytest.raises(RefusedError, match="may file 2 of its own in this sweep"):
        campaign.as_agent(research, AddIdea(title="Three"))
    with pytest.raises(RefusedError, match="none of its own"):
        campaign.as_agent(sweeper(campaign, ideas=0), AddIdea(title="Three"))


def test_research_proposes_a_chain_at_once(campaign: Any) -> None:
    research = sweeper(campaign, ideas=3)
    before: tuple[str, ...] = ()
    for title in ("First", "Second", "Third"):
        before = (campaign.as_agent(research, AddIdea(title=title, after=before)).ref,)
    listed = campaign.as_human(ListIdeas()).ideas
    assert [(one.title, one.blocked_by) for one in listed] == [
        ("First", []),
        ("Second", ["idea#1"]),
        ("Third", ["idea#2"]),
    ]


def test_a_seed_needs_pointers_that_point_somewhere(campaign: Any) -> None:
    for provenance, said in (
        ("", "needs pointers"),
        (" \n", "needs pointers"),
        ("candidate#9", "no candidate#9"),
    ):
        with pytest.raises(UsageError, match=said):
            campaign.as_human(PlantSeed(hunch="x", provenance=provenance))
    filed = campaign.as_human(
        PlantSeed(hunch="Combine them\nbecause both help", provenance="candidate#1, a paper", base="candidate#1")
    )
    assert (filed.title, filed.status) == ("Combine them", "seed")
    row = idea(campaign)
    assert (row.hypothesis, row.base_id) == ("Combine them\nbecause both help", 1)


def test_a_seed_is_developed_with_all_that_is_known(campaign: Any) -> None:
    campaign.as_human(PlantSeed(hunch="Trees might help", provenance="a paper"))
    said: dict[str, Any] = {
        "hypothesis": "Trees help",
        "evidence": "run#3",
        "check": "one tree",
        "metric": "size",
        "effect": "2 % less",
    }
    for field in said:
        with pytest.raises(UsageError, match=f"--{field} is empty"):
            campaign.as_human(DevelopSeed(idea="1", **{**said, field: " "}))
    filed = campaign.as_human(
        DevelopSeed(idea="1", **said, plan="then a forest", title="Trees", priority=1, proposed=True)
    )
    row = idea(campaign)
    assert (filed.title, row.status, row.priority, row.source) == ("Trees", "proposed", 1, "human")
    assert row.hypothesis == "Trees help\n\nThe hunch: Trees might help\n\nEvidence: run#3"
    assert row.plan is not None
    assert row.plan.split("\n\n") == [
        "First check this, and stop if it fails: one tree",
        "It succeeds by size. Expected effect: 2 % less",
        "then a forest",
    ]
    with pytest.raises(RefusedError, match="there is nothing to develop"):
        campaign.as_human(DevelopSeed(idea="1", **said))


def test_research_rejects_a_seed_with_a_note_and_nothing_else(campaign: Any) -> None:
    campaign.as_human(PlantSeed(hunch="Old news", provenance="a paper"))
    campaign.idea("Defined")
    research = sweeper(campaign)
    with pytest.raises(UsageError, match="names the earlier work"):
        campaign.as_agent(research, RejectIdea(idea="1", reason=" "))
    campaign.as_agent(research, RejectIdea(idea="1", reason="idea#2 settled it"))
    with pytest.raises(RefusedError, match="only human or orchestrator may reject it"):
        campaign.as_agent(research, RejectIdea(idea="2", reason="no"))
    comment = campaign.as_human(ListComments(target="idea#1"))[0]
    assert (comment.kind, comment.author) == ("note", "research#1")


def test_what_was_never_developed_becomes_a_seed_again(campaign: Any) -> None:
    campaign.as_human(PlantSeed(hunch="A hunch", provenance="a paper"))
    campaign.set(Idea, 1, sweeps=2)
    campaign.as_human(ParkIdea(idea="1"))
    assert campaign.as_human(ReadyIdea(idea="1")).status == "seed"
    assert idea(campaign).sweeps == 0
    campaign.as_human(AddIdea(title="Maybe", proposed=True))
    campaign.as_human(RejectIdea(idea="2"))
    assert campaign.as_human(ReadyIdea(idea="2")).status == "ready"


def test_an_idea_that_is_nearly_there_is_warned_of(campaign: Any) -> None:
    campaign.as_human(AddIdea(title="Gradient boosting on engineered features"))
    campaign.as_human(AddIdea(title="Something else on features"))
    like = campaign.as_human(AddIdea(title="gradient boosting on the engineered features!")).like
    title = "Gradient boosting on engineered features"
    assert like == [SimilarIdea(ref="idea#1", title=title, status="ready")]
    assert campaign.as_human(PlantSeed(hunch='"; DROP (NEAR', provenance="x")).like == []


def test_edits_say_what_changed_and_why(campaign: Any) -> None:
    campaign.idea("First", plan="do it")
    campaign.idea("Other")
    edited = campaign.as_human(EditIdea(idea="1", title="Better", plan="", harness="fake", reason="clearer"))
    assert (edited.changed, edited.idea.plan) == (["title", "plan", "harness"], None)
    assert last_event(campaign, "idea.edited") == {
        "actor": "human",
        "title": ["First", "Better"],
        "harness": [None, "fake"],
        "texts": 1,
        "reason": "clearer",
    }
    campaign.as_human(PrioritiseIdea(idea="1", priority=0, reason="now"))
    assert last_event(campaign, "idea.edited")["priority"] == [2, 0]
    assert campaign.as_human(ChangeBase(idea="1", base="candidate#1")).idea.base == "candidate#1"
    assert campaign.as_human(ChangeBase(idea="1")).idea.base is None
    bodies = [c.body for c in campaign.as_human(ListComments(target="idea#1"))]
    assert bodies == ["new title, new plan, new harness: clearer", "priority 2 -> 0: now"]
    for wrong, said in (
        (EditIdea(idea="1", title="Other"), "idea#2 has this title"),
        (EditIdea(idea="1"), "nothing to change"),
        (EditIdea(idea="1", harness="nope"), "no harness"),
    ):
        with pytest.raises((RefusedError, UsageError), match=said):
            campaign.as_human(wrong)
    assert campaign.as_human(PrioritiseIdea(idea="1", priority=0)).changed == []


def test_links_are_made_and_taken_away_and_close_no_circle(campaign: Any) -> None:
    for title in ("One", "Two", "Three"):
        campaign.idea(title)
    campaign.as_human(LinkIdea(idea="2", after=("1",), reason="needs it"))
    linked = campaign.as_human(LinkIdea(idea="3", after=("2",), supersedes=("1",)))
    assert (linked.after, linked.supersedes) == (["idea#2"], ["idea#1"])
    assert last_event(campaign, "idea.linked")["kind"] == "supersedes"
    with pytest.raises(RefusedError, match="cannot be linked to itself"):
        campaign.as_human(LinkIdea(idea="1", after=("1",)))
    with pytest.raises(RefusedError, match=r"idea#1 -> idea#3 -> idea#2 -> idea#1"):
        campaign.as_human(LinkIdea(idea="1", after=("3",)))
    campaign.as_human(UnlinkIdea(idea="2", after=("1",), reason="not any more"))
    assert last_event(campaign, "idea.unlinked") == {
        "actor": "human",
        "kind": "after",
        "to": 1,
        "reason": "not any more",
    }
    campaign.as_human(LinkIdea(idea="1", after=("3",)))
    for request in (UnlinkIdea(idea="2", after=("2",)), UnlinkIdea(idea="2")):
        with pytest.raises(UsageError):
            campaign.as_human(request)


def test_a_list_has_seeds_first_and_says_what_blocks(campaign: Any) -> None:
    campaign.idea("Lost", status="parked")
    campaign.idea("Done", status="done")
    campaign.idea("Waits", priority=0)
    campaign.as_human(LinkIdea(idea="3", after=("1", "2")))
    campaign.idea("Maybe", status="proposed")
    campaign.idea("Hunch", status="seed", priority=4)
    campaign.idea("Runs", status="scheduled")
    listed = campaign.as_human(ListIdeas())
    assert [i.title for i in listed.ideas] == ["Hunch", "Maybe", "Waits", "Runs", "Lost", "Done"]
    assert (listed.ideas[2].blocked_by, listed.ideas[2].lost) == (["idea#1"], ["idea#1"])
    short = campaign.as_human(ListIdeas(limit=2))
    assert ([i.title for i in short.ideas], short.left_out) == (["Hunch", "Maybe"], 4)
    queue = campaign.as_human(ShowStatus())[0].queue
    assert [(q.ref, q.lost) for q in queue] == [("idea#3", ["idea#1"])]


def test_a_finished_run_is_requeued_and_counts_no_more(campaign: Any) -> None:
    run = campaign.run(campaign.idea(status="scheduled"))
    with pytest.raises(RefusedError, match="not finished"):
        campaign.as_human(RequeueRun(run="run#1"))
    campaign.set(Run, run, state="failed", end_cause="no_commits", settled_at="2026-01-01T00:00:00.000Z")
    campaign.set(Idea, 1, status="parked")
    done = campaign.as_human(RequeueRun(run="run#1", reason="the disk was full"))
    assert (done.idea, done.old) == ("idea#1", "parked")
    assert (idea(campaign).status, get(campaign.store, Run, run).counts) == ("ready", False)
    assert last_event(campaign, "run.requeued")["reason"] == "the disk was full"
    assert campaign.as_human(ListComments(target="run#1"))[0].body == "requeued: the disk was full"


def test_an_agent_is_cancelled_with_its_work(campaign: Any) -> None:
    campaign.agent(campaign.run(campaign.idea()))
    sweeper(campaign)
    assert campaign.as_human(CancelAgent(agent="worker#1", reason="stuck")).work == "run#1"
    assert campaign.as_human(CancelAgent(agent="research#2", reason="enough")).work == "sweep#1"
    assert get(campaign.store, Run, 1).cancel_requested
    assert last_event(campaign, "sweep.cancel_requested")["reason"] == "enough"
    assert [a.ref for a in campaign.as_human(ListAgents())] == ["research#2", "worker#1"]
    campaign.set(Agent, 1, state="ended")
    with pytest.raises(RefusedError, match="has ended already"):
        campaign.as_human(CancelAgent(agent="worker#1"))
    assert [a.ref for a in campaign.as_human(ListAgents())] == ["research#2"]
    assert len(campaign.as_human(ListAgents(ended=True))) == 2
