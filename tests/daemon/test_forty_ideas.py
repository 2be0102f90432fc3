"""Forty ideas with chains, sharper versions, pins, seeds, failures and people, in real panes, twice."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from .conftest import WORKER, Campaign
from .forty import EVALUATE, SLOTS, Plan, Planned, Player, decisions

#: `make soak` plays all forty; fewer, of the kinds that matter most, are enough for every day.
FULL = bool(os.environ.get("FORTY_IDEAS"))
SEED = int(os.environ.get("FORTY_SEED", "3"))
LIMIT = 900 if FULL else 300
SECOND = """
[harness.second]
interactive = [{python}, {worker}, "{{brief}}"]
env = {{ WORKER_LOG = {log} }}
"""


@contextmanager
def campaign_in(
    folder: str, monkeypatch: pytest.MonkeyPatch, make_repo: Callable[..., Path]
) -> Iterator[Campaign]:
    """A campaign with a home of its own, and two harnesses in turn."""
    root = make_repo({"number.txt": "1\n", "evaluate.py": EVALUATE, "parts/0.txt": "0\n"}, f"{folder}/repo")
    monkeypatch.setenv("PILOOP_HOME", str(root.parent / "home"))
    with closing(Campaign(root)) as campaign:
        words = {"python": sys.executable, "worker": str(WORKER), "log": str(campaign.log)}
        second = SECOND.format(**{name: json.dumps(word) for name, word in words.items()})
        campaign.configure(slots=SLOTS, research=["seed"], timeout=LIMIT, more=second)
        text = (root / "piloop.toml").read_text()
        text = text.replace('harnesses = ["scripted"]', 'harnesses = ["scripted", "second"]')
        text = text.replace(f"timeout = {LIMIT}\n", f"timeout = {LIMIT}\nexplore_every = 3\n")
        (root / "piloop.toml").write_text(text)
        campaign.register()
        yield campaign


@pytest.mark.timeout(2 * LIMIT)
def test_each_idea_ends_as_the_page_says_and_the_same_plan_gives_the_same_decisions(
    monkeypatch: pytest.MonkeyPatch, make_repo: Callable[..., Path]
) -> None:
    decided = []
    for folder in ("one", "two"):
        plan = Plan(SEED, full=FULL)
        with campaign_in(folder, monkeypatch, make_repo) as campaign:
            Player(campaign, plan, LIMIT / 5).play()
            check_ends(campaign, plan)
            check_order(campaign, plan)
            check_head(campaign, plan)
            check_log(campaign)
            decided.append(decisions(campaign))
    for name, first in decided[0].items():
        second = decided[1][name]
        differ = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
        assert first == second, (name, differ)


def check_ends(campaign: Campaign, plan: Plan) -> None:
    """Each idea has the status, the runs and the verdicts that docs/ideas-seeds-runs.md gives it."""
    ends = {idea.title: (idea.ends, idea.runs) for idea in plan.ideas} | {"sharper at last": ("done", 1)}
    rows = campaign.rows(
        "SELECT title, status, (SELECT count(*) FROM runs r WHERE r.idea_id = ideas.id) FROM ideas ORDER BY id"
    )
    assert {row[0]: (row[1], row[2]) for row in rows} == ends
    for number, idea in enumerate(plan.ideas, 1):
        sql = (
            "SELECT c.verdict FROM candidates c JOIN runs r ON r.id = c.run_id"
            " WHERE r.idea_id = ? AND c.cause IS NOT 'moved'"
        )
        assert [row[0] for row in campaign.rows(sql, number)] == list(idea.verdicts), idea.title
    # Who is said to have decided, and why: people with their reason, the daemon with a note.
    notes = "SELECT count(*) FROM comments WHERE target_kind = 'idea' AND target_id = ? AND actor = ?"
    assert campaign.value(notes, plan.refused, "human") == 1
    for number, idea in enumerate(plan.ideas, 1):
        if idea.title.startswith("blunt"):
            assert campaign.value(notes, number, "daemon") == 1
    raised = "SELECT target_id FROM comments WHERE priority IS NOT NULL AND target_kind = 'idea'"
    assert [row[0] for row in campaign.rows(raised)] == [plan.lost]


def check_order(campaign: Campaign, plan: Plan) -> None:
    """Nothing runs before what it waits for is done, nor twice at once, and the campaign explores."""
    early = campaign.rows(
        "SELECT r.id FROM runs r JOIN idea_links l ON l.idea_id = r.idea_id AND l.kind = 'after'"
        " JOIN runs t ON t.idea_id = l.target_id WHERE t.settled_at > r.queued_at"
    )
    twice = campaign.rows(
        "SELECT a.id FROM runs a JOIN runs b ON a.idea_id = b.idea_id AND a.id < b.id"
        " WHERE a.settled_at > b.queued_at"
    )
    assert (early, twice) == ([], [])
    pinned = {number for number, idea in enumerate(plan.ideas, 1) if "base" in idea.options}
    order = [row[0] for row in campaign.rows("SELECT idea_id FROM runs ORDER BY id")]
    assert pinned & set(order[:3]), "one of three runs explores, although these ideas are the least urgent"
    assert {row[0] for row in campaign.rows("SELECT DISTINCT harness FROM runs")} == {"scripted", "second"}
    other = next(number for number, idea in enumerate(plan.ideas, 1) if "harness" in idea.options)
    assert campaign.run_of(other).harness == "second"


def check_head(campaign: Campaign, plan: Plan) -> None:
    """The head holds what the ideas on the trunk kept, and nothing of the branches."""
    score = campaign.value(
        "SELECT json_extract(metrics, '$.score') FROM measurements"
        " WHERE candidate_id = (SELECT head_id FROM projects)"
    )
    kept = [number for number, idea in enumerate(plan.ideas, 1) if "keep" in idea.verdicts]
    trunk = [number for number in kept if not campaign.run_of(number).is_branch]
    assert score == 1 + sum(value_of(plan.ideas[number - 1]) for number in trunk) + 1
    off = campaign.rows("SELECT on_trunk FROM candidates c JOIN runs r ON r.id = c.run_id WHERE r.is_branch")
    assert off
    assert not any(row[0] for row in off)


def value_of(idea: Planned) -> float:
    (value,) = re.findall(r"parts/\d+\.txt[= ](-?\d+)", idea.order)
    return float(value)


def check_log(campaign: Campaign) -> None:
    """No agent was started twice, and every run ended once."""
    starts = [line.split()[0] for line in campaign.said() if " start " in line]
    assert len(starts) == len(set(starts))
    ended = "('run.succeeded', 'run.failed', 'run.timed_out', 'run.cancelled')"
    ends = campaign.rows(f"SELECT target_id, count(*) FROM events WHERE kind IN {ended} GROUP BY target_id")
    assert len(ends) == campaign.value("SELECT count(*) FROM runs")
    assert {row[1] for row in ends} == {1}
