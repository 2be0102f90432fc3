"""How agents and runs end: failed starts, timeouts, cancellations, findings, jobs left behind."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from .conftest import Campaign, wait_until


def ends(campaign: Campaign) -> list[tuple[str, str, int]]:
    sql = "SELECT state, end_cause, failed_starts FROM runs WHERE settled_at IS NOT NULL ORDER BY id"
    return [tuple(row) for row in campaign.rows(sql)]


def test_a_start_that_fails_starts_the_same_run_again(campaign: Campaign) -> None:
    idea = campaign.idea("flaky", "first 1 exit 3", "commit number=4 four")
    campaign.up()
    campaign.settled()
    assert ends(campaign) == [("succeeded", "finished", 1)]
    agents = campaign.rows("SELECT run_id, failed_start, exit_status FROM agents ORDER BY id")
    assert [tuple(row) for row in agents] == [(1, 1, 3), (1, 0, 0)]
    assert campaign.verdicts() == [("four", "keep", "gain")]
    assert campaign.status(idea) == "done"


def test_the_third_failed_start_fails_the_run_and_counts(campaign: Campaign) -> None:
    campaign.configure(top="attempts = 1")
    campaign.register()
    idea = campaign.idea("dead", "exit 3")
    campaign.up()
    campaign.settled()
    assert ends(campaign) == [("failed", "start_failed", 3)]
    assert campaign.value("SELECT counts FROM runs") == 1
    assert campaign.value("SELECT count(*) FROM agents") == 3
    assert campaign.status(idea) == "parked"
    assert "parked" in campaign.value("SELECT body FROM comments WHERE target_kind = 'idea'")


def test_a_failed_run_gives_the_idea_back_until_its_attempts_are_used_up(campaign: Campaign) -> None:
    idea = campaign.idea("unlucky", "commit number=0 zero", "exit 4")
    campaign.up()
    campaign.settled(2)
    assert ends(campaign) == [("failed", "process_error", 0)] * 2
    assert campaign.status(idea) == "done"
    assert campaign.verdicts() == [("zero", "discard", "no_gain")]


def test_a_missing_program_is_named(campaign: Campaign) -> None:
    campaign.configure(more='\n[harness.gone]\ninteractive = ["/no/such/agent", "{brief}"]\n', top="attempts = 1")
    campaign.register()
    campaign.idea("unstartable", harness="gone")
    campaign.up()
    campaign.settled()
    assert {row[0] for row in campaign.rows("SELECT cause FROM agents")} == {"not_found"}
    assert ends(campaign) == [("failed", "start_failed", 3)]


def test_a_finding_without_a_commit_is_a_result(campaign: Campaign) -> None:
    campaign.idea("thinker", "piloop comment|add|run#1|--kind|finding|it cannot work")
    campaign.up()
    campaign.settled()
    assert ends(campaign) == [("succeeded", "finding_only", 0)]
    assert campaign.value("SELECT actor FROM comments WHERE kind = 'finding'") == "worker#1"


def test_a_run_that_is_too_slow_is_warned_and_then_ended_with_all_its_processes(campaign: Campaign) -> None:
    campaign.configure(timeout=4)
    idea = campaign.idea(
        "slow", "spawn sleep 1000", "commit number=2 two", "message", "write number.txt 3", "sleep 1000"
    )
    campaign.up()
    campaign.settled()
    assert ends(campaign)[0] == ("timed_out", "timed_out", 0)
    heard = [line for line in campaign.said() if " got " in line]
    assert len(heard) >= 1
    assert "left. Commit what you have now" in heard[0]
    assert ("two", "keep", "gain") in campaign.verdicts()
    assert campaign.value("SELECT verdict FROM candidates WHERE origin = 'recovered'") == "keep"
    assert campaign.status(idea) in ("ready", "scheduled", "done")
    assert not leftovers(campaign)


def test_a_job_that_an_agent_leaves_behind_is_ended(campaign: Campaign) -> None:
    campaign.idea("leaver", "spawn sleep 1000", "commit number=2 two")
    campaign.up()
    campaign.settled()
    assert not leftovers(campaign)


def test_a_cancelled_run_ends_and_its_idea_is_set_aside(campaign: Campaign) -> None:
    idea = campaign.idea("endless", "commit number=2 two", "sleep 1000")
    campaign.up()
    campaign.wait("SELECT 1 FROM agents WHERE started_at IS NOT NULL")
    wait_until(lambda: any("start" in line for line in campaign.said()), "the agent works")
    campaign.cancel(1)
    campaign.settled()
    assert ends(campaign) == [("cancelled", "cancelled", 0)]
    assert campaign.value("SELECT counts FROM runs") == 0
    assert campaign.status(idea) == "parked"


def test_a_paused_project_starts_nothing_and_a_resumed_one_goes_on(campaign: Campaign) -> None:
    campaign.set_project(state="paused", state_reason="lunch")
    campaign.idea("later", "commit number=2 two")
    campaign.up()
    campaign.wait("SELECT 1 FROM events WHERE kind = 'daemon.started'")
    wait_until(lambda: "home" in campaign.tmux("list-windows", "-a", check=False), "the fleet is open")
    assert campaign.value("SELECT count(*) FROM runs") == 0
    campaign.set_project(state="active")
    campaign.settled()
    assert campaign.verdicts() == [("two", "keep", "gain")]


@pytest.mark.parametrize(
    ("how", "state", "agents"), [(signal.SIGTERM, "running", 1), (signal.SIGUSR2, "queued", 0)]
)
def test_down_keeps_the_agents_or_gives_their_runs_back(
    campaign: Campaign, how: signal.Signals, state: str, agents: int
) -> None:
    campaign.idea("long", "wait go", "commit number=2 two")
    campaign.up()
    wait_until(lambda: any("start" in line for line in campaign.said()), "the agent works")
    campaign.down(how)
    assert campaign.value("SELECT state FROM runs") == state
    assert campaign.value("SELECT count(*) FROM agents WHERE state <> 'ended'") == agents
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs"), "go").touch()
    campaign.up()
    campaign.settled()
    assert campaign.verdicts() == [("two", "keep", "gain")]
    assert campaign.value("SELECT count(*) FROM runs") == 1


def leftovers(campaign: Campaign) -> list[int]:
    """The processes that still carry a mark of this home."""
    found = []
    for process in psutil.process_iter():
        try:
            mark = process.environ().get("HERDR_AGENT", "")
        except psutil.Error:
            continue
        if mark.startswith(f"{campaign.home.root.resolve()}:") and process.pid != os.getpid():
            found.append(process.pid)
    return found


def test_a_daemon_that_ends_its_agents_starts_no_other(campaign: Campaign) -> None:
    for number in range(6):
        campaign.idea(f"dead {number}", "exit 3")
    campaign.up()
    campaign.wait("SELECT 1 FROM agents WHERE state = 'ended'")
    campaign.down(signal.SIGUSR2)
    assert campaign.value("SELECT count(*) FROM agents WHERE state <> 'ended'") == 0
    assert not leftovers(campaign)
