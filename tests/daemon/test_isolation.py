"""What an agent does to its own folder and repository costs its own run at most, and none of its commits."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest

from .conftest import Campaign, wait_until
from .test_ends import ends

ESCALATIONS = "SELECT body FROM comments WHERE kind = 'escalation' AND target_kind = 'run'"
#: An agent waits until so many of its commits are pinned in the person's repository.
PINNED = (
    "sh for n in $(seq 400); do test $(git -C ../.. for-each-ref refs/piloop | grep -c run-1/[1-9]) -ge {count}"
    " && break; sleep 0.05; done"
)


def run_folder(campaign: Campaign) -> Path:
    return Path(campaign.value("SELECT worktree FROM runs WHERE id = 1"))


def git(root: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def test_a_folder_that_is_no_worktree_any_more_ends_the_run_and_a_person_is_told_once(campaign: Campaign) -> None:
    (campaign.root / "secret.env").write_text("mine\n")
    campaign.configure(top="attempts = 1")
    campaign.register()
    before = git(campaign.root, "rev-parse", "HEAD"), git(campaign.root, "status", "--porcelain")
    idea = campaign.idea("careless", "commit number=2 two", "write number.txt 3", "sh rm .git", "exit 3")
    campaign.up()
    campaign.settled()
    assert ends(campaign) == [("failed", "folder_lost", 0)]
    assert campaign.value("SELECT count(*) FROM agents") == 1
    # What it committed is judged all the same; what it did not is nobody's.
    assert campaign.verdicts() == [("two", "keep", "gain")]
    folder = run_folder(campaign)
    assert (folder / "number.txt").read_text() == "3\n"
    assert (git(campaign.root, "rev-parse", "HEAD"), git(campaign.root, "status", "--porcelain")) == before
    (body,) = [row[0] for row in campaign.rows(ESCALATIONS)]
    assert all(word in body for word in ("run#1", str(folder), ".git is gone", "Fix:"))
    assert campaign.status(idea) == "done"
    campaign.kill()
    campaign.up()
    campaign.wait("SELECT count(*) = 2 FROM events WHERE kind = 'daemon.started'")
    assert len(campaign.rows(ESCALATIONS)) == 1


def test_no_agent_is_started_in_a_folder_that_was_replaced(campaign: Campaign) -> None:
    campaign.configure(top="attempts = 1")
    campaign.register()
    campaign.idea("moved", "sh d=$PWD; cd /; mv $d $d.old; ln -s $d.old $d", "exit 3")
    campaign.up()
    campaign.settled()
    # The one start that failed is not counted: the folder was the cause, and would be so again.
    assert ends(campaign) == [("failed", "folder_lost", 0)]
    assert campaign.value("SELECT count(*) FROM agents") == 1
    assert campaign.value("SELECT count(*) FROM agents WHERE failed_start = 1") == 0
    assert len(campaign.rows(ESCALATIONS)) == 1
    assert run_folder(campaign).is_symlink()


def test_a_folder_that_was_replaced_while_nobody_worked_is_found_before_a_start(campaign: Campaign) -> None:
    campaign.idea("waits", "first 1 wait go", "commit number=2 two")
    campaign.up()
    wait_until(lambda: any("waits go" in line for line in campaign.said()), "the agent works")
    campaign.down(signal.SIGUSR2)
    (run_folder(campaign) / ".git").unlink()
    campaign.up()
    campaign.settled()
    assert campaign.rows("SELECT end_cause FROM runs WHERE id = 1")[0][0] == "folder_lost"
    assert campaign.value("SELECT count(*) FROM agents WHERE run_id = 1") == 1
    assert len(campaign.rows(ESCALATIONS)) == 1


def test_a_folder_that_an_agent_deleted_is_made_again_where_the_work_stands(campaign: Campaign) -> None:
    campaign.idea(
        "deleter",
        "first 1 sh rm -rf $PWD",
        "first 2 exit 3",
        "commit number=2 two",
        "sh git checkout -q --detach",
        "commit number=3 three",
    )
    campaign.up()
    campaign.settled()
    assert ends(campaign) == [("succeeded", "finished", 1)]
    assert campaign.verdicts() == [("two", "keep", "gain"), ("three", "keep", "gain")]


def test_a_restart_goes_on_where_the_work_stands(campaign: Campaign) -> None:
    campaign.idea(
        "goes on",
        "first 1 sh echo 2 > number.txt && git commit -qam two && git checkout -q --detach",
        "once killed killwrapper",
        "sh git log -1 --format=%s; git symbolic-ref -q HEAD",
    )
    campaign.up()
    campaign.settled()
    said = [line.split(" sh ", 1)[1] for line in campaign.said() if " sh 1 two" in line]
    assert said, "on the commit, and on no branch"


def test_what_was_committed_for_a_moment_is_scored_whatever_becomes_of_it(campaign: Campaign) -> None:
    campaign.idea(
        "regrets",
        "sh git checkout -q -b side",
        "commit number=2 two",
        PINNED.format(count=1),
        "sh git reset -q --hard HEAD~1 && git checkout -q --detach && git branch -D side",
        "sh git reflog expire --expire=now --expire-unreachable=now --all && git gc -q --prune=now",
        "commit number=3 three",
    )
    campaign.up()
    campaign.settled()
    assert sorted(campaign.verdicts()) == [("three", "keep", "gain"), ("two", "keep", "gain")]
    assert not [line for line in campaign.said() if " sh " in line and " sh 0" not in line]


def test_every_tree_that_head_or_a_branch_stood_on_is_scored_once(campaign: Campaign) -> None:
    campaign.idea(
        "many",
        "commit number=2 two",
        "sh git checkout -q -b side && echo 3 > number.txt && git commit -qam three",
        "sh echo 4 > number.txt && git commit -qa --amend -m four",
        "sh git commit -q --amend -m again",
        "sh git checkout -q --detach HEAD~2",
    )
    campaign.up()
    campaign.settled()
    assert ends(campaign) == [("succeeded", "finished", 0)]
    assert sorted(row[0] for row in campaign.verdicts()) == ["four", "three", "two"]


def test_a_commit_that_head_has_left_makes_a_real_start(campaign: Campaign) -> None:
    campaign.configure(top="attempts = 1")
    campaign.register()
    campaign.idea("steps back", "commit number=2 two", "sh git checkout -q --detach HEAD~1", "exit 3")
    campaign.up()
    campaign.settled()
    assert ends(campaign) == [("failed", "process_error", 0)]
    assert campaign.verdicts() == [("two", "keep", "gain")]


ACTS = {
    "a repository of its own": ["sh rm .git && git init -q && git add -A && git commit -qm mine"],
    "nothing is left": ["sh git branch -D $(git branch --show-current); rm -rf $PWD"],
    "its branch is gone": ["sh git update-ref -d HEAD"],
    "a lock is left": ["sh touch $(git rev-parse --git-dir)/HEAD.lock $(git rev-parse --git-dir)/index.lock"],
}


@pytest.mark.parametrize("how", ["end", "cancel", "down"])
@pytest.mark.parametrize("act", ACTS)
def test_no_run_is_immortal(campaign: Campaign, act: str, how: str) -> None:
    campaign.configure(top="attempts = 1")
    campaign.register()
    last = "sh true" if how == "end" else "sleep 1000"
    campaign.idea("strange", "commit number=2 two", *ACTS[act], "say done", last)
    campaign.up()
    wait_until(lambda: len([line for line in campaign.said() if " sh " in line]) >= 1, "it is done")
    if how == "down":
        begun = time.monotonic()
        campaign.down(signal.SIGUSR2)
        assert time.monotonic() - begun < 40
        assert campaign.value("SELECT count(*) FROM agents WHERE state <> 'ended'") == 0
        assert campaign.value("SELECT state FROM runs") in ("queued", "failed")
        return
    if how == "cancel":
        campaign.cancel(1)
    campaign.settled(seconds=40)
    assert campaign.verdicts()[0] == ("two", "keep", "gain")
    if how == "cancel":
        assert ends(campaign) == [("cancelled", "cancelled", 0)]


def test_an_agent_whose_wrapper_is_killed_again_and_again_fails_its_run_and_holds_nobody_up(
    campaign: Campaign,
) -> None:
    campaign.configure(slots=1, top="attempts = 1")
    campaign.register()
    campaign.idea("killer", "killwrapper", priority=0)
    campaign.idea("other", "commit number=2 two")
    campaign.up()
    campaign.settled(2)
    assert campaign.rows("SELECT end_cause, failed_starts FROM runs WHERE id = 1")[0][:] == ("start_failed", 3)
    causes = campaign.rows("SELECT cause, failed_start FROM agents WHERE run_id = 1 ORDER BY id")
    assert [tuple(row) for row in causes] == [("killed", 0)] * 2 + [("killed", 1)] * 3
    assert campaign.value("SELECT count(*) FROM events WHERE kind = 'launching.held'") == 0
    assert campaign.verdicts() == [("two", "keep", "gain")]
