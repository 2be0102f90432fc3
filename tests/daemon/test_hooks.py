"""What plugins decide and bring while a campaign runs."""

from __future__ import annotations

from .conftest import Campaign, install_plugin

COLLECTS = """
from herdr.api import OutsideIdea, hookimpl

@hookimpl
def herdr_collect_ideas(project):
    return [OutsideIdea(key="17", title="from outside", hypothesis="h", plan="DO commit number=3 three")]
"""
REFUSES = """
from herdr.api import ClaimAnswer, hookimpl

@hookimpl
def herdr_claim(project, idea, run):
    return ClaimAnswer(allowed="forbidden" not in idea.title, reason="another node has it")
"""
FAILS_FIRST = """
from pathlib import Path
from herdr.api import hookimpl

@hookimpl
def herdr_claim(project, idea, run):
    asked = Path(project.path, "asked")
    if not asked.exists():
        asked.touch()
        raise RuntimeError("the forge is down")
"""
EVALUATES = """
from herdr.api import EvaluationResult, hookimpl

@hookimpl
def herdr_evaluate(request):
    number = float((request.worktree / "number.txt").read_text())
    return EvaluationResult(metrics={"score": number * 100, "cost": 0.0}, error=None, seconds=0.1)
"""
ADDS_A_SECTION = """
from herdr.api import BriefSection, hookimpl

@hookimpl
def herdr_brief_sections(context):
    return [BriefSection(title="House rules", body=f"for {context.agent}")]
"""


def plugin(campaign: Campaign, code: str) -> dict[str, str]:
    return install_plugin(campaign.root.parent / "plugin", code)


def test_ideas_from_outside_are_taken_in_once_and_run(campaign: Campaign) -> None:
    campaign.up(**plugin(campaign, COLLECTS))
    campaign.settled()
    campaign.kill()
    campaign.up()
    campaign.wait("SELECT count(*) = 2 FROM events WHERE kind = 'daemon.started'")
    assert campaign.verdicts() == [("three", "keep", "gain")]
    rows = campaign.rows("SELECT title, source, outside_key FROM ideas")
    assert [tuple(row) for row in rows] == [("from outside", "forge", "test:17")]


def test_a_refused_claim_starts_nothing_and_sets_the_idea_aside(campaign: Campaign) -> None:
    campaign.idea("forbidden", "commit number=9 nine")
    campaign.idea("allowed", "commit number=2 two")
    campaign.up(**plugin(campaign, REFUSES))
    campaign.settled(2)
    assert campaign.verdicts() == [("two", "keep", "gain")]
    assert campaign.status(1) == "parked"
    assert campaign.value("SELECT end_cause FROM runs WHERE idea_id = 1") == "refused"
    assert "another node has it" in campaign.value("SELECT body FROM comments WHERE target_id = 1")


def test_a_claim_that_cannot_be_answered_is_asked_again(campaign: Campaign) -> None:
    idea = campaign.idea("patient", "commit number=2 two")
    campaign.up(**plugin(campaign, FAILS_FIRST))
    campaign.settled()
    assert campaign.status(idea) == "done"
    assert campaign.value("SELECT failed_starts FROM runs") == 0
    told = campaign.value("SELECT payload FROM events WHERE kind = 'plugin.failed'")
    assert "the forge is down" in told


def test_a_plugin_may_score_elsewhere(campaign: Campaign) -> None:
    campaign.idea("two", "commit number=2 two")
    campaign.up(**plugin(campaign, EVALUATES))
    campaign.settled()
    assert '"score":200.0' in campaign.value("SELECT metrics FROM measurements ORDER BY id DESC")


def test_a_plugin_may_add_to_briefs(campaign: Campaign) -> None:
    campaign.idea("two", "commit number=2 two")
    campaign.up(**plugin(campaign, ADDS_A_SECTION))
    campaign.settled()
    assert campaign.value("SELECT brief FROM runs").endswith("## House rules\n\nfor worker#1\n")
