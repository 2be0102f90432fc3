"""`polyresearch` as an agent of herdr types it in the folder of its run, which has a repository of its own."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from herdr.api import checkout_of_run
from tests.campaigns import LiveCampaign

TOML = """\
name = "lab"
runtime = "subprocess"
evaluate = [{python}, "evaluate.py"]
harnesses = ["scripted"]
[[metrics]]
name = "score"
direction = "higher"
role = "primary"
[roles.research]
triggers = []
[roles.watchdog]
interval = 0
triggers = []
[harness.scripted]
interactive = ["sh", {script}, "{{prompt}}"]
headless = ["sh", {script}, "{{prompt}}"]
"""
#: Claims, commits, records and submits, and leaves in its repository what must not reach the person's.
AGENT = """\
polyresearch() {{ {python} -c 'from herdr_polyresearch.cli import main; main()' "$@"; }}
exec >>{log} 2>&1
set -ex
polyresearch claim 1
git checkout -q -b thesis/1-rmsnorm-attempt-1
echo 'x = 2' >train.py
git commit -qam 'try it'
git tag evil
git branch aside
git config remote.origin.url /nowhere
polyresearch attempt 1 --metric 1.5 --baseline 1.0 --observation improved --summary 'tried it'
polyresearch submit 1
git rev-parse HEAD >{log}.done
"""


@pytest.fixture
def campaign(project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LiveCampaign]:
    """A project on the local forge with thesis #1; the clone of alice is registered with herdr."""
    script = tmp_path / "agent.sh"
    words = {"python": json.dumps(sys.executable), "script": json.dumps(str(script))}
    script.write_text(AGENT.format(python=shlex.quote(sys.executable), log=shlex.quote(str(tmp_path / "log"))))
    project.push_main({"evaluate.py": "print('METRIC score=1')\n", "piloop.toml": TOML.format(**words)})
    project.thesis("RMSNorm")
    monkeypatch.setenv("PILOOP_HOME", str(project.place.home))
    campaign = LiveCampaign(project.clone("alice/n1"))
    campaign.register()
    yield campaign
    campaign.close()


def state_of(git: Callable[..., str], root: Path) -> dict[str, str]:
    """All of a repository that an agent could have changed, but objects, herdr's pins and what a push leaves."""
    refs = git(root, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    own = ("refs/piloop/", "refs/remotes/origin/")
    files = ("HEAD", "FETCH_HEAD", "config", "packed-refs", "info/exclude", "info/attributes", "logs/HEAD")
    found = {name: root / ".git" / name for name in files}
    return {
        **{name: path.read_text() for name, path in found.items() if path.exists()},
        "refs": "\n".join(line for line in refs if not line.startswith(own)),
        "hooks": " ".join(sorted(path.name for path in (root / ".git/hooks").iterdir())),
        "status": git(root, "status", "--porcelain"),
        "worktrees": git(root, "worktree", "list"),
    }


def test_a_thesis_is_claimed_tried_and_submitted_from_the_folder_of_a_run(
    project: Any, campaign: LiveCampaign, git: Callable[..., str], tmp_path: Path
) -> None:
    root = campaign.root
    git(root, "fetch", "-q", "--no-write-fetch-head", "origin")
    before = state_of(git, root)
    campaign.idea("RMSNorm")
    campaign.up(**project.environ("alice/n1"))
    campaign.settled()
    done = tmp_path / "log.done"
    assert done.exists(), (tmp_path / "log").read_text()
    commit = done.read_text().strip()
    after = state_of(git, root)
    assert after == before
    assert project.phase(1) == "candidate_submitted"
    head = "refs/heads/thesis/1-rmsnorm-attempt-1"
    assert git(root, "ls-remote", "origin", head).split() == [commit, head]
    pins = git(root, "for-each-ref", "--format=%(objectname)", "refs/piloop").split()
    assert commit in pins


def test_only_the_folder_of_the_run_leads_to_the_checkout(tmp_path: Path) -> None:
    worktree = tmp_path / "repo/.worktrees/run-1"
    (worktree / "src").mkdir(parents=True)
    environ = {"HERDR_MAILBOX": f"{worktree}/.herdr/mailbox", "HERDR_CHECKOUT": f"{tmp_path}/repo"}
    assert checkout_of_run(environ, worktree / "src") == tmp_path / "repo"
    # Where `polyresearch claim` made a worktree of the person's repository, or in the checkout: as for a person.
    assert checkout_of_run(environ, worktree.parent / "1-rmsnorm") is None
    assert checkout_of_run(environ, tmp_path / "repo") is None
    assert checkout_of_run({**os.environ, "HERDR_MAILBOX": environ["HERDR_MAILBOX"]}, worktree) is None
