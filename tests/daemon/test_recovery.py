"""`kill -9` of the daemon or of tmux at any moment loses nothing and does nothing twice."""

from __future__ import annotations

import os
import signal

import pytest

from .conftest import Campaign, wait_until
from .storm import Storm

#: `make soak` sets these higher.
KILLS, TMUX_KILLS = int(os.environ.get("STORM_KILLS", "4")), int(os.environ.get("STORM_TMUX_KILLS", "1"))
RUNS = int(os.environ.get("STORM_RUNS", "5"))
SEED = int(os.environ.get("STORM_SEED", "1"))
LIMIT = 150 + 10 * KILLS + 5 * RUNS


@pytest.mark.timeout(LIMIT)
def test_a_daemon_killed_at_random_moments(campaign: Campaign) -> None:
    storm = Storm(campaign, SEED)
    storm.add_ideas(RUNS)
    storm.kill_daemon(KILLS)
    storm.finish(LIMIT)
    storm.check()


@pytest.mark.timeout(LIMIT)
def test_a_tmux_server_killed_at_random_moments(campaign: Campaign) -> None:
    storm = Storm(campaign, SEED)
    storm.add_ideas(RUNS)
    storm.kill_tmux(TMUX_KILLS)
    storm.finish(LIMIT)
    storm.check(lost=True)


@pytest.mark.timeout(120)
def test_a_killed_tmux_server_gives_its_runs_back_to_the_queue(campaign: Campaign) -> None:
    idea = campaign.idea("survivor", "commit number=2 two", "first 1 sleep 1000", "commit number=3 three")
    campaign.up()
    wait_until(lambda: any("committed" in line for line in campaign.said()), "the first commit")
    os.kill(int(campaign.tmux("display-message", "-p", "#{pid}")), signal.SIGKILL)
    campaign.settled(seconds=60)
    assert campaign.value("SELECT count(*) FROM runs") == 1
    assert campaign.value("SELECT failed_starts FROM runs") == 0
    assert campaign.value("SELECT count(*) FROM agents") == 2
    assert campaign.status(idea) == "done"
    assert campaign.value("SELECT subject FROM candidates WHERE id = (SELECT head_id FROM projects)") == "three"


def test_what_ended_while_the_daemon_was_dead_is_taken_up(campaign: Campaign) -> None:
    campaign.idea("patient", "wait go", "commit number=2 two", "write number.txt 3")
    campaign.up()
    wait_until(lambda: any("start" in line for line in campaign.said()), "the agent works")
    campaign.kill()
    campaign.root.joinpath(campaign.value("SELECT worktree FROM runs"), "go").touch()
    wait_until(lambda: list(campaign.home.root.glob("agents/1/exit.json")), "the agent has ended")
    campaign.up()
    campaign.settled()
    rows = campaign.rows("SELECT origin, verdict FROM candidates WHERE origin <> 'baseline' ORDER BY id")
    assert [tuple(row) for row in rows] == [("run", "keep"), ("recovered", "keep")]
    assert campaign.value("SELECT count(*) FROM agents") == 1


def test_an_interrupted_scoring_is_taken_up_and_its_command_is_not_left_running(campaign: Campaign) -> None:
    evaluate = campaign.root / "evaluate.py"
    evaluate.write_text(evaluate.read_text() + "import time\ntime.sleep(1.5)\n")
    campaign.configure()
    os.system(f"cd {campaign.root} && git commit -qam slower")
    campaign.register()
    campaign.idea("scored", "commit number=2 two")
    campaign.up()
    campaign.wait("SELECT 1 FROM measurements WHERE state = 'running'")
    campaign.kill()
    campaign.up()
    campaign.settled()
    assert campaign.verdicts() == [("two", "keep", "gain")]
    assert campaign.value("SELECT count(*) FROM events WHERE kind = 'measurement.done'") == 1
