"""`[setup]` before an agent: it runs in the folder, and what goes wrong is a failed start with words."""

from __future__ import annotations

import json
import subprocess

from herdr.ops.run import CancelRun

from .conftest import Campaign, wait_until


def setup(script: str) -> str:
    return f'[setup]\ncommand = ["sh", "-c", {json.dumps(script)}]\n'


def test_each_worktree_is_made_ready_and_that_is_not_the_agents_work(campaign: Campaign) -> None:
    (campaign.root / ".gitignore").write_text("/made\n")
    campaign.git("add", ".gitignore")
    campaign.git("commit", "-qm", "ignore")
    campaign.configure(more=setup("pwd > made"))
    (campaign.root / "evaluate.py").write_text(
        (campaign.root / "evaluate.py").read_text()
        + "assert Path('made').read_text().strip() == str(Path.cwd())\n"
    )
    campaign.git("commit", "-qam", "needs to be made ready")
    campaign.register()
    assert not (campaign.root / "made").exists()
    campaign.idea("five", "sh cp made seen", "sh git add -f seen", "commit number=5 five")
    campaign.up()
    campaign.settled()
    assert campaign.value("SELECT verdict FROM candidates WHERE subject = 'five'") == "keep"
    sha = campaign.value("SELECT commit_sha FROM candidates WHERE subject = 'five'")
    worktree = campaign.value("SELECT worktree FROM runs")
    seen = subprocess.run(["git", "show", f"{sha}:seen"], cwd=campaign.root, capture_output=True, check=True)
    assert seen.stdout.decode().strip() == worktree


def test_a_set_up_that_fails_is_a_failed_start_that_says_why(campaign: Campaign) -> None:
    campaign.configure(more=setup("case $PWD in */.worktrees/*) echo nothing to be had >&2; exit 4;; esac"))
    campaign.register()
    campaign.idea("five", "commit number=5 five")
    campaign.up()
    campaign.wait("SELECT 1 FROM agents WHERE failed_start = 1")
    row = campaign.rows("SELECT id, cause, cause_detail, started_at FROM agents")[0]
    assert row["cause"] == "config"
    assert "exited with status 4: nothing to be had" in row["cause_detail"]
    assert row["started_at"] is None
    shown = (campaign.home.agent_dir(row["id"]) / "screen.txt").read_text()
    assert shown == "nothing to be had\n"


def test_what_it_leaves_for_the_agent_to_commit_is_told(campaign: Campaign) -> None:
    campaign.configure(more=setup("case $PWD in */.worktrees/*) echo 2 > number.txt; echo 2 > fresh;; esac"))
    campaign.register()
    campaign.idea("five", "commit number=5 five")
    campaign.up()
    campaign.wait("SELECT 1 FROM agents WHERE failed_start = 1")
    detail = campaign.value("SELECT cause_detail FROM agents")
    assert "leaves what git takes for the agent's work: fresh, number.txt" in detail
    assert campaign.value("SELECT count(*) FROM candidates") == 1


def test_a_cancelled_run_does_not_wait_for_its_set_up(campaign: Campaign) -> None:
    begun = campaign.root.parent / "begun"
    campaign.configure(more=setup(f"case $PWD in */.worktrees/*) touch {begun}; sleep 300;; esac"))
    campaign.register()
    campaign.idea("five", "commit number=5 five")
    campaign.up()
    wait_until(begun.exists, "the set-up begins")
    campaign.ask(CancelRun(run="run#1", reason="changed my mind"))
    campaign.wait("SELECT 1 FROM runs WHERE state = 'cancelled'")
    assert campaign.value("SELECT count(*) FROM agents") == 0
