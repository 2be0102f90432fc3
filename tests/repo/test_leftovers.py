from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit
from herdr.repo.files import delete_entry
from herdr.repo.furnish import furnish, make_agent_folder
from herdr.repo.leftovers import Leftovers, interrupted
from herdr.repo.refs_on_disk import read_refs
from herdr.repo.run_folder import RECOVERED, RunFolder

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[..., RunFolder]


def recovered(folder: RunFolder, since: int) -> Leftovers:
    """What herdr does when an agent has ended."""
    folder.collect(since)
    left = folder.recover("worker#1")
    folder.check()
    return left


def names(git: Git, repo: Path, commit: str, *than: str) -> list[str]:
    listed = git(repo, "diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", commit, *than)
    return sorted(filter(None, listed.split("\0")))


def test_all_work_is_in_a_commit_of_its_own(
    repo: Path, start: Start, git: Git, commit: Commit, since: int
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    (worktree / ".gitignore").write_text("*.log\n")
    before = commit(worktree, {"kept.txt": "k"}, "mine")
    (worktree / "solve.py").write_text("print(2)\n")
    (worktree / "solve.py").chmod(0o755)
    (worktree / "lib" / "data.txt").unlink()
    (worktree / "noise.log").write_text("x")
    for name in ("new\nline.txt", "ü.txt", "-x", ":(top)", "deep/er/a b"):
        (worktree / name).parent.mkdir(parents=True, exist_ok=True)
        (worktree / name).write_text(name)
    (worktree / "kept.txt").rename(worktree / "moved.txt")
    assert folder.removable() == "it has uncommitted work"
    found = recovered(folder, since)
    assert found.commit is not None
    assert found.problems == ()
    assert found.commit.parents == (before,)
    assert found.commit.trailer(RECOVERED) == ("worker#1",)
    assert git(worktree, "rev-parse", "piloop/p/run-1") == found.commit.sha == head_commit(worktree)
    listed = git(repo, "ls-tree", "-r", "-z", "--name-only", found.commit.sha).split("\0")
    assert sorted(filter(None, listed)) == sorted(
        [
            ".gitignore",
            "evaluate.py",
            "solve.py",
            "moved.txt",
            "new\nline.txt",
            "ü.txt",
            "-x",
            ":(top)",
            "deep/er/a b",
        ]
    )
    assert git(repo, "ls-tree", found.commit.sha, "solve.py").startswith("100755")
    assert git(worktree, "status", "--porcelain") == ""
    assert folder.removable() is None
    assert recovered(folder, since).commit is None
    assert [one.sha for one in folder.commits()] == [before, found.commit.sha]


def test_it_is_signed_with_the_persons_name_or_ours(repo: Path, start: Start, git: Git, since: int) -> None:
    # The test's own GIT_AUTHOR_NAME is in the environment and must not reach it.
    first = start(1)
    (first.place.worktree / "a").write_text("1")
    recovered(first, since)
    said = git(first.place.worktree, "log", "-1", "--format=%an <%ae> %cn <%ce>")
    assert said == " ".join(["herdr <herdr@localhost>"] * 2)
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.com")
    from herdr.repo.own import refresh

    assert refresh(first.own) == [
        "user.email: not set is now ada@example.com",
        "user.name: not set is now Ada",
    ]
    second = start(2)
    (second.place.worktree / "a").write_text("2")
    recovered(second, since)
    said = git(second.place.worktree, "log", "-1", "--format=%an <%ae> %cn <%ce>")
    assert said == " ".join(["Ada <ada@example.com>"] * 2)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "commit", "-q", "--allow-empty", "-m", "by the agent"]
    subprocess.run(command, cwd=second.place.worktree, env=env, check=True)
    assert git(second.place.worktree, "log", "-1", "--format=%an <%ae>") == "Ada <ada@example.com>"


def test_it_needs_no_hook_signature_or_editor(repo: Path, start: Start, git: Git, since: int) -> None:
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "gpg.program", "false")
    folder = start(1)
    # Nor do the agent's own commits.
    git(folder.place.worktree, "commit", "-q", "--allow-empty", "-m", "m")
    (folder.place.worktree / "a").write_text("1")
    assert recovered(folder, since).commit is not None


def test_what_is_not_the_agents_is_left_out(
    repo: Path, start: Start, git: Git, tmp_path: Path, since: int
) -> None:
    (repo / "data").mkdir()
    (repo / "data" / "big").write_text("x")
    folder = start(1, link=("data",))
    worktree = folder.place.worktree
    furnish(folder.place, folder.own, link=["data"], workspace=tmp_path / "ws")
    make_agent_folder(folder.place, folder.own)
    (worktree / ".herdr" / "brief.md").write_text("b")
    assert recovered(folder, since).commit is None
    git(worktree, "add", "-f", "data", "workspace", ".herdr")
    (worktree / "work").write_text("w")
    found = recovered(folder, since)
    assert found.commit is not None
    assert names(git, repo, found.commit.sha) == ["work"]


def test_an_interrupted_merge(repo: Path, start: Start, git: Git, commit: Commit, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    git(worktree, "switch", "-q", "-c", "other")
    commit(worktree, {"solve.py": "theirs\n"})
    git(worktree, "switch", "-q", "piloop/p/run-1")
    mine = commit(worktree, {"solve.py": "mine\n"})
    assert (
        subprocess.run(["git", "merge", "other"], cwd=worktree, capture_output=True, check=False).returncode == 1
    )
    assert interrupted(folder.place) == "merge"
    found = recovered(folder, since)
    assert found.interrupted == "merge"
    assert found.commit is not None
    assert found.commit.parents == (mine,)
    assert "<<<<<<<" in git(repo, "show", f"{found.commit.sha}:solve.py")
    assert folder.removable() == "a merge in it is not finished"


def test_an_interrupted_rebase(repo: Path, start: Start, git: Git, commit: Commit, since: int) -> None:
    theirs = commit(repo, {"solve.py": "theirs\n"})
    base = git(repo, "rev-parse", "HEAD~1")
    folder = start(1, base=base)
    worktree = folder.place.worktree
    mine = commit(worktree, {"solve.py": "mine\n"})
    assert (
        subprocess.run(["git", "rebase", "main"], cwd=worktree, capture_output=True, check=False).returncode == 1
    )
    found = recovered(folder, since)
    assert found.interrupted == "rebase"
    assert found.commit is not None
    assert found.commit.parents == (theirs,)
    assert git(worktree, "rev-parse", "piloop/p/run-1") == mine
    assert {one.sha for one in folder.commits()} == {mine, found.commit.sha}


@pytest.mark.parametrize("dirty", [True, False])
def test_after_a_killed_git(start: Start, git: Git, commit: Commit, since: int, dirty: bool) -> None:
    folder = start(1)
    worktree, place = folder.place.worktree, folder.place
    commit(worktree, {"b": "1"})
    for path in (
        place.admin / "index.lock",
        place.admin / "HEAD.lock",
        place.repository / "refs/heads/piloop/p/run-1.lock",
        place.repository / "packed-refs.lock",
    ):
        path.write_text("")
    if dirty:
        (worktree / "a").write_text("1")
    found = recovered(folder, since)
    assert (found.commit is not None) == dirty
    # The next start can go on.
    commit(worktree, {"c": "1"})
    git(worktree, "branch", "-d", "main")


@pytest.mark.parametrize("where", ["detached", "own branch", "the default branch"])
def test_a_worker_that_went_elsewhere(
    repo: Path, start: Start, git: Git, commit: Commit, since: int, where: str
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    switch = {"detached": ["--detach"], "own branch": ["-c", "mine"], "the default branch": ["main"]}[where]
    git(worktree, "switch", "-q", *switch)
    one = commit(worktree, {"a": "1"})
    (worktree / "b").write_text("2")
    found = recovered(folder, since)
    assert found.commit is not None
    assert found.commit.parents == (one,)
    assert head_commit(worktree) == found.commit.sha
    assert head_commit(repo) == folder.base
    branch = subprocess.run(["git", "branch", "--show-current"], cwd=worktree, capture_output=True, text=True)
    assert branch.stdout.strip() == {"detached": "", "own branch": "mine", "the default branch": "main"}[where]
    assert [c.sha for c in folder.commits()] == [one, found.commit.sha]


def test_repos_inside_the_repo(repo: Path, start: Start, git: Git, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    git(worktree, "init", "-q", "without-commits")
    git(worktree, "clone", "-q", str(repo), "deep/cloned")
    (worktree / "work").write_text("w")
    found = recovered(folder, since)
    assert found.commit is not None
    assert names(git, repo, found.commit.sha) == ["work"]
    assert len(found.problems) == 2


def test_a_repo_inside_whose_configuration_names_a_program(
    repo: Path, start: Start, git: Git, commit: Commit, tmp_path: Path, since: int
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    for name in ("committed", "staged"):
        git(worktree, "init", "-q", name)
        (worktree / name / "tracked").write_text("1")
        git(worktree / name, "add", "tracked")
        git(worktree / name, "commit", "-q", "-m", "x")
        git(worktree, "add", name)
        if name == "committed":
            git(worktree, "commit", "-q", "-m", "a gitlink")
        script = tmp_path / "ran.sh"
        script.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        script.chmod(0o755)
        for key in ("core.fsmonitor", "core.sshCommand", "filter.x.clean", "diff.external"):
            git(worktree / name, "config", key, str(script))
        (worktree / name / ".gitattributes").write_text("* filter=x\n")
        # A git that looked whether it has changed would run the filter.
        (worktree / name / "tracked").write_text("2")
    (worktree / "work").write_text("w")
    delete_entry(tmp_path / "ran")
    found = recovered(folder, since)
    assert found.commit is not None
    assert names(git, repo, found.commit.sha) == ["work"]
    assert folder.removable() is None
    assert not (tmp_path / "ran").exists()


def test_an_orphan_branch(start: Start, git: Git, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    git(worktree, "switch", "-q", "--orphan", "fresh")
    (worktree / "a").write_text("1")
    found = recovered(folder, since)
    assert found.commit is not None
    assert found.commit.parents == ()
    assert head_commit(worktree) == found.commit.sha
    assert [one.sha for one in folder.commits()] == [found.commit.sha]


@pytest.mark.parametrize("how", ["branch deleted", "all refs deleted", "HEAD gone", "HEAD a fifo",
                                 "HEAD a folder", "HEAD nonsense", "HEAD of no commit"])  # fmt: skip
def test_where_nothing_says_what_the_worktree_stands_on(
    start: Start, git: Git, commit: Commit, since: int, how: str
) -> None:
    folder = start(1)
    worktree, place = folder.place.worktree, folder.place
    tip = commit(worktree, {"a": "1"})
    folder.collect(since)
    head = place.admin / "HEAD"
    if how == "branch deleted":
        git(worktree, "update-ref", "-d", "refs/heads/piloop/p/run-1")
    elif how == "all refs deleted":
        shutil.rmtree(place.repository / "refs")
        (place.repository / "packed-refs").unlink()
        (place.repository / "refs").mkdir()
    else:
        head.unlink()
        if how == "HEAD a fifo":
            os.mkfifo(head)
        elif how == "HEAD a folder":
            head.mkdir()
        elif how != "HEAD gone":
            head.write_text("nonsense\n" if how == "HEAD nonsense" else "1" * 40)
    (worktree / "b").write_text("1")
    found = recovered(folder, since)
    assert found.commit is not None
    # It goes on from the run's last commit, not from nothing.
    assert found.commit.parents == (tip,)
    assert git(worktree, "status", "--porcelain") == ""
    assert head_commit(worktree) == found.commit.sha


@pytest.mark.parametrize("how", ["fifo", "folder", "link", "gone", "nonsense", "too long"])
def test_an_index_that_is_none(start: Start, git: Git, since: int, tmp_path: Path, how: str) -> None:
    folder = start(1)
    worktree, index = folder.place.worktree, folder.place.admin / "index"
    (worktree / "a").write_text("1")
    content = index.read_bytes()
    index.unlink()
    if how == "fifo":
        os.mkfifo(index)
    elif how == "folder":
        (index / "deep").mkdir(parents=True)
    elif how == "link":
        (tmp_path / "precious").write_bytes(content)
        index.symlink_to(tmp_path / "precious")
    elif how == "nonsense":
        index.write_text("nonsense")
    elif how == "too long":
        with index.open("wb") as file:
            file.truncate(1024**4)
    found = recovered(folder, since)
    assert found.commit is not None
    assert git(worktree, "status", "--porcelain") == ""
    if how == "link":
        assert (tmp_path / "precious").read_bytes() == content
    if how == "fifo":
        # Also where there is nothing to commit, or the next start would wait on it.
        index.unlink()
        os.mkfifo(index)
        assert recovered(folder, since).commit is None
        assert git(worktree, "status", "--porcelain") == ""


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_flags_that_hide_changes(repo: Path, start: Start, git: Git, since: int, flag: str) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    git(worktree, "update-index", flag, "solve.py", "lib/data.txt")
    (worktree / "solve.py").write_text("hidden\n")
    (worktree / "lib" / "data.txt").unlink()
    assert git(worktree, "status", "--porcelain") == ""
    assert folder.removable() == "it has uncommitted work"
    found = recovered(folder, since)
    assert found.commit is not None
    assert names(git, repo, found.commit.sha) == ["lib/data.txt", "solve.py"]


def test_what_was_staged_although_it_is_ignored(repo: Path, start: Start, git: Git, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    (folder.place.repository / "info" / "exclude").write_text("*.bin\n")
    (folder.own.path / "info" / "exclude").write_text("*.bin\n")
    (worktree / "model.bin").write_text("m")
    (worktree / "other.bin").write_text("o")
    git(worktree, "add", "-f", "model.bin")
    found = recovered(folder, since)
    assert found.commit is not None
    assert names(git, repo, found.commit.sha) == ["model.bin"]
    assert git(worktree, "status", "--porcelain") == ""


def test_what_was_staged_and_then_taken_back(start: Start, git: Git, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    (worktree / "solve.py").write_text("half\n")
    git(worktree, "add", "solve.py")
    (worktree / "solve.py").write_text("print(1)\n")
    assert folder.removable() is None
    assert recovered(folder, since).commit is None


def test_a_stash_that_is_all_that_is_left(repo: Path, start: Start, git: Git, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    (worktree / "solve.py").write_text("stashed\n")
    (worktree / "new").write_text("n")
    git(worktree, "stash", "-u")
    found = recovered(folder, since)
    assert found.commit is not None
    assert found.stashed
    assert found.commit.parents == (folder.base,)
    assert found.commit.trailer(RECOVERED) == ("worker#1",)
    assert names(git, repo, found.commit.sha) == ["new", "solve.py"]
    # The files are not there, so the run goes on where it stood; and it is recovered once.
    assert head_commit(worktree) == folder.base
    assert recovered(folder, since).commit is None
    assert len(folder.commits()) == 1
    assert git(repo, "stash", "list") == ""


def test_a_stash_beside_other_work_is_none(start: Start, git: Git, commit: Commit, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    tip = commit(worktree, {"a": "1"})
    (worktree / "solve.py").write_text("stashed\n")
    git(worktree, "stash")
    assert recovered(folder, since).commit is None
    assert [one.sha for one in folder.commits()] == [tip]


def test_a_head_that_leads_out_of_the_repository(
    repo: Path, start: Start, since: int, user_state: Callable[[Path], dict[str, object]]
) -> None:
    folder = start(1)
    way = os.path.relpath(repo / ".git/refs/heads/main", folder.place.repository / "refs/heads")
    (folder.place.admin / "HEAD").write_text(f"ref: refs/heads/{way}\n")
    (folder.place.worktree / "a").write_text("1")
    assert read_refs(folder.place).branch is None
    before = user_state(repo)
    found = recovered(folder, since)
    assert found.commit is not None
    assert found.commit.parents == (folder.base,)
    assert user_state(repo) == before


def test_refs_that_lead_out_of_the_repository(
    repo: Path, start: Start, since: int, user_state: Callable[[Path], dict[str, object]]
) -> None:
    folder = start(1)
    (folder.place.repository / "refs/heads").rmdir()
    (folder.place.repository / "refs/heads").symlink_to(repo / ".git/refs/heads")
    (folder.place.admin / "HEAD").write_text("ref: refs/heads/main\n")
    (folder.place.worktree / "a").write_text("1")
    before = user_state(repo)
    found = recovered(folder, since)
    assert found.commit is not None
    assert user_state(repo) == before


def test_what_cannot_be_read_costs_nothing_else(repo: Path, start: Start, git: Git, since: int) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    os.mkfifo(worktree / "pipe")
    (worktree / "work").write_text("w")
    (worktree / ".gitattributes").write_text("bad filter=nowhere\n")
    (worktree / "bad").symlink_to(worktree / "bad")
    found = recovered(folder, since)
    assert found.commit is not None
    assert names(git, repo, found.commit.sha) == [".gitattributes", "bad", "work"]
