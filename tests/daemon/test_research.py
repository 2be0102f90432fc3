"""Research sweeps: agents without a run, in panes of their own, that develop seeds and look for ideas."""

from __future__ import annotations

import pytest

from herdr.ops.agent import CancelAgent

from .conftest import Campaign, wait_until

DEVELOP = (
    "idea|develop|idea#{}|--hypothesis|four is more than one|--evidence|arithmetic|--check|print it"
    "|--metric|score|--effect|three more|--plan|DO commit number=4 four"
)
FINDING = "piloop comment|add|project|--kind|finding|looked around"


def seed(campaign: Campaign, title: str, *do: str) -> int:
    hunch = "\n".join(f"DO {line}" for line in do)
    return campaign.idea(title, hypothesis=hunch, status="seed", provenance="candidate#1")


def sweeps(campaign: Campaign) -> list[tuple[str, str, str]]:
    return [tuple(row) for row in campaign.rows("SELECT role, trigger, state FROM sweeps ORDER BY id")]


def ended(campaign: Campaign, count: int = 1, seconds: float = 60.0) -> None:
    sql = "SELECT count(*) >= ? FROM sweeps WHERE state NOT IN ('queued', 'running') AND worktree IS NULL"
    campaign.wait(sql, count, seconds=seconds)


@pytest.fixture
def researched(unregistered: Campaign) -> Campaign:
    unregistered.configure(slots=1, research=["seed"])
    unregistered.register()
    return unregistered


def test_a_seed_starts_a_sweep_at_once_and_what_it_is_developed_into_is_run(researched: Campaign) -> None:
    researched.idea("busy", "wait go", "commit number=2 two")
    researched.up()
    wait_until(lambda: any("start" in line for line in researched.said()), "the only slot is taken")
    hunch = seed(researched, "more", f"piloop {DEVELOP.format(2)}", FINDING)
    ended(researched)
    assert sweeps(researched) == [("research", "seed", "done")]
    agent = researched.rows("SELECT role, run_id, sweep_id, failed_start FROM agents ORDER BY id DESC LIMIT 1")[0]
    assert tuple(agent) == ("research", None, 1, 0)
    brief = researched.value("SELECT brief FROM sweeps")
    assert "the researcher of a campaign" in brief
    assert f"### idea#{hunch}, filed by human" in brief
    assert researched.status(hunch) == "ready"
    researched.root.joinpath(researched.value("SELECT worktree FROM runs"), "go").touch()
    researched.settled(2)
    assert researched.status(hunch) == "done"


def test_what_a_sweep_commits_is_discarded_with_its_worktree(researched: Campaign) -> None:
    hunch = seed(
        researched, "no", "commit number=99 cheat", "piloop idea|reject|idea#1|--reason|candidate#1 did it"
    )
    researched.up()
    ended(researched)
    assert researched.status(hunch) == "rejected"
    assert researched.verdicts() == []
    assert not list(researched.root.joinpath(".worktrees").glob("*-sweep-*"))
    assert researched.value("SELECT actor FROM events WHERE kind = 'idea.status'") == "research#1"


def test_a_seed_that_a_sweep_left_alone_starts_no_second_one(researched: Campaign) -> None:
    left = seed(researched, "left alone", FINDING)
    researched.up()
    ended(researched)
    other = seed(researched, "another", "piloop idea|reject|idea#2|--reason|no")
    ended(researched, 2)
    assert researched.status(left) == "seed"
    assert researched.status(other) == "rejected"
    assert sweeps(researched) == [("research", "seed", "done")] * 2
    assert "### idea#1," not in researched.value("SELECT brief FROM sweeps WHERE id = 2")


def test_a_killed_sweep_is_tried_once_more(researched: Campaign) -> None:
    seed(researched, "hard", FINDING, "exit 3")
    researched.up()
    ended(researched, 2)
    seed(researched, "easy", "piloop idea|reject|idea#2|--reason|no")
    ended(researched, 3)
    assert sweeps(researched) == [("research", "seed", "failed")] * 2 + [("research", "seed", "done")]
    assert researched.value("SELECT sweeps FROM ideas WHERE id = 1") == 2


def test_a_sweep_that_never_starts_is_started_again_and_then_fails(researched: Campaign) -> None:
    seed(researched, "dead", "exit 3")
    researched.up()
    researched.wait("SELECT state = 'failed' FROM sweeps")
    assert researched.value("SELECT failed_starts FROM sweeps") == 3
    assert researched.value("SELECT count(*) FROM agents WHERE failed_start = 1 AND role = 'research'") == 3
    researched.wait("SELECT held_since FROM projects")


def test_a_cancelled_sweep_ends_and_its_seed_waits_for_a_person(researched: Campaign) -> None:
    hunch = seed(researched, "endless", "sleep 1000")
    researched.up()
    wait_until(lambda: any("start" in line for line in researched.said()), "the agent works")
    researched.ask(CancelAgent(agent="research#1"))
    ended(researched)
    assert sweeps(researched) == [("research", "seed", "cancelled")]
    assert researched.status(hunch) == "seed"


def test_a_killed_daemon_takes_the_sweep_up_again(researched: Campaign) -> None:
    seed(researched, "patient", "wait go", "piloop idea|reject|idea#1|--reason|no")
    researched.up()
    wait_until(lambda: any("start" in line for line in researched.said()), "the agent works")
    worktree = researched.value("SELECT worktree FROM sweeps")
    researched.kill()
    researched.up()
    researched.wait("SELECT 1 FROM events WHERE kind = 'agent.adopted'")
    researched.root.joinpath(worktree, "go").touch()
    ended(researched)
    assert sweeps(researched) == [("research", "seed", "done")]
    assert researched.value("SELECT count(*) FROM agents") == 1


def test_research_looks_for_ideas_when_few_are_ready_and_does_not_spin(unregistered: Campaign) -> None:
    campaign = unregistered
    orders = ["piloop idea|add|found|--hypothesis|it helps|--plan|DO commit number=2 two", FINDING]
    (campaign.root / "research.md").write_text("\n".join(f"DO {line}" for line in orders))
    campaign.configure(slots=1, research=["low_water"])
    text = (campaign.root / "piloop.toml").read_text()
    more = '[roles.research]\nbuffer = 0\naddendum = "research.md"\n'
    (campaign.root / "piloop.toml").write_text(text.replace("[roles.research]\n", more))
    campaign.register()
    campaign.up()
    campaign.settled()
    assert campaign.value("SELECT source FROM ideas").startswith("research#")
    assert "file at most 1 of your own" in campaign.value("SELECT brief FROM sweeps")
    # The second one finds nothing, and only one run has ended since: it takes a rest as long as that sweep.
    ended(campaign, 3, seconds=60)
    assert campaign.value("SELECT count(*) FROM ideas") == 1
    times = "SELECT julianday(queued_at), julianday(finished_at) FROM sweeps ORDER BY id"
    _, second, third = (tuple(row) for row in campaign.rows(times)[:3])
    assert third[0] - second[1] >= second[1] - second[0]
