"""What an agent's environment says of folders: its worktree, and the checkout only where it has to."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from herdr.daemon.runs.environment import agent_environment

from .conftest import Campaign

#: Deletes the worktree's `.git` and says what git makes of that, and what the environment is.
LOST = """\
import json, os, pathlib, subprocess, sys
out = pathlib.Path(os.environ["WORKER_LOG"])
pathlib.Path(".git").unlink()
git = subprocess.run(["git", "rev-parse", "--show-toplevel"], capture_output=True, text=True)
out.write_text(json.dumps({"git": git.stdout + git.stderr, "env": dict(os.environ)}))
"""


def test_folders_of_the_checkout_become_those_of_the_worktree(tmp_path: Path) -> None:
    root, worktree = tmp_path / "repo", tmp_path / "repo" / ".worktrees" / "run-1"
    (worktree / "tools").mkdir(parents=True)
    (root / "tools").mkdir()
    (root / ".venv/bin").mkdir(parents=True)
    environ = {
        "PATH": f"{root}/tools:{root}/.venv/bin:/usr/bin::relative",
        "PYTHONPATH": f"{root}",
        "NOTES": f"{root}/tools",
        "OLDPWD": str(root),
        "DIRENV_DIR": f"-{root}",
        "GIT_CEILING_DIRECTORIES": "/mine",
    }
    made = agent_environment(environ, root, worktree)
    # Where the worktree has none, the programs of the evaluate command are in the checkout's.
    assert made["PATH"] == f"{worktree}/tools:{root}/.venv/bin:/usr/bin::relative"
    assert made["PYTHONPATH"] == str(worktree)
    assert made["NOTES"] == f"{root}/tools"
    assert made["GIT_CEILING_DIRECTORIES"] == f"{root}/.worktrees:/mine"
    assert made["HERDR_CHECKOUT"] == str(root)
    assert not {"OLDPWD", "DIRENV_DIR"} & set(made)
    # A venv of the worktree's own is the one that counts.
    (worktree / ".venv/bin").mkdir(parents=True)
    assert f"{worktree}/.venv/bin" in agent_environment(environ, root, worktree)["PATH"]


def test_a_checkout_behind_a_link_is_known_by_both_its_names(tmp_path: Path) -> None:
    (tmp_path / "repo/.worktrees/run-1").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    worktree = tmp_path / "link/.worktrees/run-1"
    made = agent_environment({"PYTHONPATH": str(tmp_path / "repo")}, tmp_path / "link", worktree)
    assert made["PYTHONPATH"] == str(worktree)


def test_git_does_not_climb_from_a_worktree_without_its_git_file(unregistered: Campaign) -> None:
    campaign = unregistered
    argv = json.dumps([sys.executable, "-c", LOST, "{prompt}"])
    campaign.configure(harness=f"headless = {argv}")
    file = campaign.root / "piloop.toml"
    file.write_text(file.read_text().replace('runtime = "herdr"', 'runtime = "subprocess"'))
    campaign.register()
    before = subprocess.run(
        ["git", "status", "--porcelain=2", "--branch"], cwd=campaign.root, capture_output=True
    )
    campaign.idea("lost")
    campaign.up(PYTHONPATH=str(campaign.root), OLDPWD=str(campaign.root))
    campaign.wait("SELECT 1 FROM agents WHERE state = 'ended'")
    said = json.loads(campaign.log.read_text())
    assert "not a git repository" in said["git"]
    worktree = campaign.value("SELECT worktree FROM runs")
    holding = {name for name, value in said["env"].items() if str(campaign.root) in value.replace(worktree, "")}
    assert holding == {"HERDR_CHECKOUT", "GIT_CEILING_DIRECTORIES"}
    after = subprocess.run(["git", "status", "--porcelain=2", "--branch"], cwd=campaign.root, capture_output=True)
    assert after.stdout == before.stdout
