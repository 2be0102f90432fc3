from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from herdr.errors import HerdrError, UsageError
from herdr.repo import checks
from herdr.repo.checks import (
    find_root,
    head_commit,
    is_dirty,
    path_inside,
    resolve_commit,
)
from herdr.repo.commits import changed_paths, tree_of
from herdr.repo.git import GitError, run_git
from herdr.repo.own import OwnRepository
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
OwnOf = Callable[[Path], OwnRepository]


def test_a_failure_carries_the_command_and_what_git_said(repo: Path) -> None:
    with pytest.raises(GitError) as caught:
        run_git(repo, "rev-parse", "--verify", "nowhere")
    assert caught.value.command == ("rev-parse", "--verify", "nowhere")
    assert "Needed a single revision" in caught.value.message
    assert str(repo) in caught.value.message


def test_the_callers_git_variables_do_not_redirect_it(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert run_git(repo, "rev-parse", "--show-toplevel").text == str(repo)


@pytest.mark.parametrize("as_user", [False, True])
def test_hooks_variables_and_settings_are_the_users_only_when_asked(
    repo: Path, monkeypatch: pytest.MonkeyPatch, as_user: bool
) -> None:
    hook = repo / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "$SECRET" > hook-ran\n')
    hook.chmod(0o755)
    monkeypatch.setenv("SECRET", "token")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    run_git(
        repo,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
        as_user=as_user,
    )
    ran = repo / "hook-ran"
    assert (ran.read_text() if ran.exists() else None) == ("token\n" if as_user else None)
    assert run_git(repo, "config", "core.fsmonitor", check=False, as_user=as_user).text == (
        "" if as_user else "false"
    )


def test_a_timeout_kills_what_git_started(repo: Path, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    run_git(repo, "config", "alias.hang", f"!echo $$ > {pid_file}; sleep 100")
    with pytest.raises(GitError, match="not done after 1 seconds"):
        run_git(repo, "hang", timeout=1)
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 20
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "it was killed, and goes on"
        time.sleep(0.02)


def test_git_missing(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    checks.check_git.cache_clear()
    with pytest.raises(HerdrError, match="git is not installed") as caught:
        find_root(repo)
    assert caught.value.fix == "Install git 2.38 or newer."


@pytest.mark.parametrize(
    ("version", "fine"),
    [("2.37.9", False), ("1.99", False), ("2.38.0", True), ("2.50.1 (Apple Git-155)", True), ("3.0", True)],
)
def test_git_too_old(version: str, fine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "git"
    fake.write_text(f"#!/bin/sh\necho 'git version {version}'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    checks.check_git.cache_clear()
    try:
        if fine:
            checks.check_git()
        else:
            with pytest.raises(HerdrError, match="too old"):
                checks.check_git()
    finally:
        checks.check_git.cache_clear()


def test_the_root_is_found_from_anywhere(repo: Path, start: Callable[..., RunFolder]) -> None:
    worktree = start(1).place.worktree
    for place in (repo, repo / "lib", worktree, worktree / "lib"):
        assert find_root(place) == repo


def test_what_is_no_repo_to_work_in(repo: Path, tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    (tmp_path / "plain").mkdir()
    table = {
        tmp_path / "missing": "is not a folder",
        repo / "solve.py": "is not a folder",
        tmp_path / "plain": "is not inside a git repo",
        tmp_path / "bare.git": "is a bare repo",
        repo / ".git": "is inside a .git folder",
    }
    for path, message in table.items():
        with pytest.raises(UsageError, match=message) as caught:
            find_root(path)
        assert caught.value.fix


def test_a_worktree_of_a_bare_repo(repo: Path, tmp_path: Path, git: Git) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "wt"))
    with pytest.raises(UsageError, match="bare repo"):
        find_root(tmp_path / "wt")


def test_no_commits(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(UsageError, match="has no commits") as caught:
        head_commit(tmp_path / "empty")
    assert "git commit" in (caught.value.fix or "")


def test_reading_commits(repo: Path, own_of: OwnOf, git: Git, commit: Callable[..., str]) -> None:
    first = head_commit(repo)
    second = commit(repo, {"solve.py": "print(2)\n"})
    third = commit(repo, {"solve.py": "print(1)\n"})
    assert resolve_commit(repo, "HEAD~2") == resolve_commit(repo, first[:8]) == first
    own = own_of(repo)
    assert tree_of(own, first) == tree_of(own, third) != tree_of(own, second)
    git(repo, "tag", "-a", "-m", "t", "v1", first)
    assert resolve_commit(repo, "v1") == first
    for bad in ("nowhere", "0" * 40, "HEAD:lib", "", "a..b"):
        with pytest.raises(UsageError, match="names no commit"):
            resolve_commit(repo, bad)


def test_dirty(repo: Path) -> None:
    assert not is_dirty(repo)
    (repo / "new").write_text("x")
    assert is_dirty(repo)
    assert is_dirty(repo, ["new"])
    assert not is_dirty(repo, ["solve.py"])
    assert not is_dirty(repo, ["n*"]), "a path is not a pattern"


def test_changed_paths(repo: Path, own_of: OwnOf, git: Git, commit: Callable[..., str]) -> None:
    base = commit(repo, {"long.txt": "line\n" * 50, "gone": "x", "turned": "file"})
    git(repo, "mv", "long.txt", "ren\named.txt")
    (repo / "turned").unlink()
    (repo / "turned").symlink_to("solve.py")
    (repo / "solve.py").chmod(0o755)
    tip = commit(repo, {"gone": None, "ü": "new"})
    found = {change.path: change for change in changed_paths(own_of(repo), base, tip)}
    assert {path: change.status for path, change in found.items()} == {
        "ren\named.txt": "R",
        "turned": "T",
        "solve.py": "M",
        "gone": "D",
        "ü": "A",
    }
    assert found["ren\named.txt"].old_path == "long.txt"
    assert found["turned"].is_symlink
    assert (found["solve.py"].old_mode, found["solve.py"].mode) == (0o100644, 0o100755)


@pytest.mark.parametrize("path", ["../x", "/etc", "a/../../x", "", ".", "way/out"])
def test_paths_that_lead_out(path: str, repo: Path) -> None:
    (repo / "way").symlink_to("/tmp")
    with pytest.raises(UsageError, match="leads out of"):
        path_inside(repo, path)
