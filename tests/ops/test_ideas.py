from __future__ import annotations

from typing import Any

import pytest

from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.ops.core import look_up, read_request
from herdr.ops.idea.filing import AddIdea
from herdr.ops.idea.reading import ListIdeas, ShowIdea


def count(campaign: Any, table: str) -> int:
    return int(campaign.store.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_an_idea_is_filed_with_all_that_was_said(campaign: Any) -> None:
    first = campaign.as_human(AddIdea(title="First"))
    filed = campaign.as_human(
        AddIdea(
            title="Second",
            hypothesis="because",
            plan="do it",
            provenance="a paper",
            family="algorithms",
            harness="fake",
            model="large",
            base="candidate#1",
            priority=0,
            attempts=3,
            after=(first.ref,),
        )
    )
    shown = campaign.as_human(ShowIdea(idea=filed.ref))
    idea = shown.idea
    said = {"hypothesis": "because", "plan": "do it", "provenance": "a paper", "family": "algorithms"}
    pins = {"harness": "fake", "model": "large", "base": "candidate#1", "priority": 0, "attempts": 3}
    assert {key: getattr(idea, key) for key in said | pins} == said | pins
    assert (idea.status, idea.source, idea.blocked_by) == ("ready", "human", ["idea#1"])
    assert shown.links.after == ["idea#1"]
    assert campaign.as_human(ShowIdea(idea="1")).links.before == ["idea#2"]
    listed = campaign.as_human(ListIdeas()).ideas
    assert [(i.ref, i.blocked_by) for i in listed] == [("idea#2", ["idea#1"]), ("idea#1", [])]


def test_a_proposed_idea_waits_for_a_person(campaign: Any) -> None:
    campaign.as_human(AddIdea(title="Maybe", proposed=True))
    assert [i.status for i in campaign.as_human(ListIdeas()).ideas] == ["proposed"]
    assert campaign.as_human(ListIdeas(status=("ready",))).ideas == []


TITLES = {
    "#(touch pwned)": "#(touch pwned)",
    "  two\n lines\t": "two lines",
    "a\x1b[31mb\x07": "ab",
    "größer 🐑": "größer 🐑",
    "'); DROP TABLE ideas;--": "'); DROP TABLE ideas;--",
}


def test_a_title_is_just_a_title(campaign: Any) -> None:
    for typed, stored in TITLES.items():
        assert campaign.as_human(AddIdea(title=typed)).title == stored
    assert not (campaign.root / "pwned").exists()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"title": ""}, "the title is empty"),
    ({"title": " \x07\n "}, "the title is empty"),
    ({"title": "x" * 201}, "more than 200 characters"),
    ({"title": "bad \udcff byte"}, "must be UTF-8"),
    ({"title": "x", "plan": "nul \0"}, "NUL"),
    ({"title": "x", "hypothesis": "y" * 300_000}, "at most 200000 bytes"),
    ({"title": "x", "harness": "nope"}, "no harness is called 'nope'"),
    ({"title": "x", "base": "candidate#99"}, "there is no candidate#99"),
    ({"title": "x", "base": "run#1"}, "does not name a candidate"),
    ({"title": "x", "after": ["idea#77"]}, "there is no idea#77"),
    ({"title": "x", "after": ["9" * 30]}, "does not name an idea"),
    ({"title": "x", "priority": 9}, "`int` <= 4"),
    ({"title": "x", "attempts": 0}, "`int` >= 1"),
    ({"title": "x", "project": "nowhere"}, "no project is called 'nowhere'"),
    ({"title": "x", "unknown": 1}, "unknown field"),
]


def test_what_does_not_fit_is_refused_and_nothing_is_written(campaign: Any) -> None:
    before = count(campaign, "ideas"), count(campaign, "events")
    for arguments, said in WRONG:
        with pytest.raises(UsageError) as error:
            campaign.as_human(read_request(look_up("idea.add"), arguments))
        assert said in error.value.message
        assert (count(campaign, "ideas"), count(campaign, "events")) == before


def test_a_title_that_is_there_already_names_the_other_idea(campaign: Any) -> None:
    campaign.as_human(AddIdea(title="Once"))
    with pytest.raises(RefusedError) as error:
        campaign.as_human(AddIdea(title=" Once "))
    assert "idea#1" in error.value.message
    assert error.value.fix is not None
    assert "piloop idea show idea#1" in error.value.fix


def test_an_idea_links_twice_to_the_same_one_only_once(campaign: Any) -> None:
    campaign.as_human(AddIdea(title="First"))
    campaign.as_human(AddIdea(title="Second", after=("1", "idea#1"), supersedes=("1",)))
    assert count(campaign, "idea_links") == 2


def test_other_projects_are_out_of_an_agents_sight(campaign: Any) -> None:
    campaign.store.execute(
        "INSERT INTO projects (name, path, config, actor) SELECT 'other', '/other', config, 'human' FROM projects"
    )
    campaign.idea("Theirs", project_id=2)
    agent = campaign.agent(campaign.run(campaign.idea("Ours")))
    with pytest.raises(HerdrError, match="there is no idea#1"):
        campaign.as_agent(agent, ShowIdea(idea="idea#1"))
    with pytest.raises(RefusedError, match="works for project tiny"):
        campaign.as_agent(agent, ListIdeas(project="other"))
    assert [i.title for i in campaign.as_agent(agent, ListIdeas()).ideas] == ["Ours"]
