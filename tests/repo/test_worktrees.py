from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import herdr
from herdr.errors import HerdrError, RefusedError
from herdr.repo.checks import common_dir, find_root, head_commit
from herdr.repo.git import GitError
from herdr.repo.lock import repo_lock
from herdr.repo.worktrees import (
    Worktree,
    create_detached,
    create_run_worktree,
    delete_tree,
    ensure_run_worktree,
    list_worktrees,
    remove_detached,
    verify,
    verify_detached,
)

Git = Callable[..., str]
Start = Callable[[int], Worktree]

CREATE = """
import sys
from pathlib import Path
from herdr.repo.worktrees import create_run_worktree
root = Path(sys.argv[1])
for n in sys.argv[2:]:
    create_run_worktree(root, path=root / ".worktrees" / f"run-{n}-x", branch=f"piloop/p/run-{n}", commit="HEAD")
"""


def start_process(root: Path, *numbers: str) -> subprocess.Popen[bytes]:
    env = os.environ | {"PYTHONPATH": str(Path(herdr.__file__).parents[1])}
    return subprocess.Popen([sys.executable, "-c", CREATE, str(root), *numbers], env=env)


def until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


def leftovers_in_git(root: Path) -> list[Path]:
    return [*(root / ".git" / "worktrees").glob("*"), *(root / ".git" / "herdr").glob("undo-*")]


def test_a_run_worktree(repo: Path, start: Start, git: Git) -> None:
    made = start(1)
    assert made.path == repo / ".worktrees" / "run-1-x"
    assert git(made.path, "symbolic-ref", "HEAD") == "refs/heads/piloop/p/run-1"
    assert made.commit == head_commit(repo) == head_commit(made.path)
    assert (made.path / "lib" / "data.txt").read_text() == "d\n"
    main, listed = list_worktrees(repo)
    assert (main.path, main.made) == (repo, None)
    assert (listed.path, listed.branch, listed.made) == (made.path, made.branch, made.made)
    assert leftovers_in_git(repo) == [repo / ".git" / "worktrees" / "run-1-x"]


def test_the_users_things_stay_as_they_are(
    repo: Path, start: Start, git: Git, user_state: Callable[[Path], dict[str, object]]
) -> None:
    (repo / "solve.py").write_text("stashed\n")
    git(repo, "stash")
    (repo / "solve.py").write_text("half done\n")
    git(repo, "add", "solve.py")
    (repo / "lib" / "data.txt").unlink()
    (repo / "untracked").write_text("u")
    git(repo, "status")
    before = user_state(repo)
    made = start(1)
    scoring = create_detached(repo, repo / ".worktrees" / "eval", made.commit)
    remove_detached(repo, scoring.path)
    assert user_state(repo) == before


def test_hooks_of_the_user_do_not_run(repo: Path, start: Start) -> None:
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        script = repo / ".git" / "hooks" / hook
        script.write_text(f"#!/bin/sh\ntouch {repo}/ran-{hook}\nexit 1\n")
        script.chmod(0o755)
    start(1)
    assert not list(repo.glob("ran-*"))


def test_sixteen_at_once_from_threads(repo: Path, start: Start, git: Git) -> None:
    git(repo, "remote", "add", "origin", str(repo))
    git(repo, "fetch", "-q", "origin")
    git(repo, "branch", "-q", "--set-upstream-to", "origin/main", "main")
    config = (repo / ".git" / "config").read_bytes()
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(start, range(16)))
    for worktree in made:
        verify(worktree.path, root=repo, branch=worktree.branch or "", base=worktree.commit)
    assert len(list_worktrees(repo)) == 17
    assert (repo / ".git" / "config").read_bytes() == config


def test_many_at_once_from_processes(repo: Path) -> None:
    processes = [start_process(repo, *(f"{n}{m}" for m in range(4))) for n in range(1, 5)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert len(list_worktrees(repo)) == 17


@pytest.fixture
def slow_repo(repo: Path, git: Git, commit: Callable[..., str], tmp_path: Path) -> Path:
    """A repo whose checkout writes `started` and then waits until `go` exists."""
    script = f"touch {tmp_path}/started; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; cat"
    commit(repo, {".gitattributes": "slow.txt filter=slow\n", "slow.txt": "slow\n"})
    git(repo, "config", "filter.slow.smudge", script)
    git(repo, "config", "filter.slow.required", "true")
    return repo


@pytest.mark.parametrize("git_dies_too", [True, False])
def test_a_killed_creation_is_repaired_by_the_next(slow_repo: Path, tmp_path: Path, git_dies_too: bool) -> None:
    process = start_process(slow_repo, "1")
    until((tmp_path / "started").exists)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    assert (slow_repo / ".worktrees" / "run-1-x" / "evaluate.py").exists(), "it was half made"
    if git_dies_too:
        for child in children:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    else:
        # git goes on alone; nobody may repair while it writes.
        with (
            pytest.raises(HerdrError, match="held by another process"),
            repo_lock(slow_repo / ".git", timeout=0.1),
        ):
            pass
    worktree = slow_repo / ".worktrees" / "run-1-x"
    with pytest.raises(HerdrError, match="only half"):
        verify(worktree, root=slow_repo, branch="piloop/p/run-1", base=head_commit(slow_repo))
    (tmp_path / "go").touch()
    ensure_run_worktree(slow_repo, path=worktree, branch="piloop/p/run-1", commit="HEAD")
    verify(worktree, root=slow_repo, branch="piloop/p/run-1", base=head_commit(slow_repo))
    assert (worktree / "slow.txt").read_text() == "slow\n"
    assert leftovers_in_git(slow_repo) == [slow_repo / ".git" / "worktrees" / "run-1-x"]


def test_a_failed_creation_leaves_nothing(repo: Path, start: Start, git: Git, commit: Callable[..., str]) -> None:
    commit(repo, {".gitattributes": "bad.txt filter=bad\n", "bad.txt": "x\n"})
    git(repo, "config", "filter.bad.smudge", "false")
    git(repo, "config", "filter.bad.required", "true")
    with pytest.raises(GitError, match="worktree add"):
        start(1)
    assert leftovers_in_git(repo) == []
    assert not (repo / ".worktrees" / "run-1-x").exists()
    assert git(repo, "branch", "--list", "piloop/*") == ""


def test_git_killed_between_its_first_two_steps(repo: Path, start: Start) -> None:
    made = start(1)
    note = b'{"path": "%b", "branch": "piloop/p/run-1", "commit": "%b"}' % (
        os.fsencode(made.path),
        made.commit.encode(),
    )
    (repo / ".git" / "herdr" / "undo-1.json").write_bytes(note)
    subprocess.run(["rm", "-r", made.path], check=True)
    (repo / ".git" / "worktrees" / "run-1-x" / "gitdir").unlink()
    (repo / ".git" / "worktrees" / "run-1-x" / "locked").write_text("initializing")
    start(1)
    assert leftovers_in_git(repo) == [repo / ".git" / "worktrees" / "run-1-x"]


def test_repair_spares_work_and_strangers(repo: Path, start: Start, git: Git, commit: Callable[..., str]) -> None:
    base = head_commit(repo)
    git(repo, "branch", "moved")
    git(repo, "branch", "-f", "moved", commit(repo, {"new": "1"}))
    foreign = repo / ".worktrees" / "foreign"
    foreign.mkdir(parents=True)
    (foreign / "precious").write_text("x")
    note = b'{"path": "%b", "branch": "moved", "commit": "%b"}' % (os.fsencode(foreign), base.encode())
    (repo / ".git" / "herdr").mkdir()
    (repo / ".git" / "herdr" / "undo-1.json").write_bytes(note)
    start(1)
    assert (foreign / "precious").exists()
    assert git(repo, "rev-parse", "moved") == head_commit(repo)


@pytest.mark.parametrize("kind", ["folder", "empty folder", "file", "dangling symlink", "symlink to a folder"])
def test_a_path_in_the_way_is_refused_and_kept(
    repo: Path, tmp_path: Path, start: Start, git: Git, kind: str
) -> None:
    path = repo / ".worktrees" / "run-1-x"
    path.parent.mkdir()
    if kind == "file":
        path.write_text("x")
    elif "symlink" in kind:
        path.symlink_to("/nowhere" if kind.startswith("dangling") else tmp_path)
    else:
        path.mkdir()
        if kind == "folder":
            (path / "precious").write_text("x")
    with pytest.raises(RefusedError, match="exists already") as caught:
        start(1)
    assert str(path) in (caught.value.fix or "")
    assert os.path.lexists(path)
    assert kind != "folder" or (path / "precious").exists()
    assert git(repo, "branch", "--list", "piloop/*") == ""


@pytest.mark.parametrize("branch", ["piloop/p/run-1", "piloop/p", "piloop"])
def test_a_branch_in_the_way_is_refused_and_kept(repo: Path, start: Start, git: Git, branch: str) -> None:
    git(repo, "branch", branch)
    with pytest.raises(RefusedError, match=f"the branch {branch} exists already"):
        start(1)
    assert git(repo, "rev-parse", branch) == head_commit(repo)
    assert not (repo / ".worktrees" / "run-1-x").exists()


def test_verify(
    repo: Path, start: Start, git: Git, make_repo: Callable[..., Path], commit: Callable[..., str]
) -> None:
    made = start(1)
    branch, base = "piloop/p/run-1", made.commit
    commit(made.path, {"solve.py": "print(2)\n"})
    verify(made.path, root=repo, branch=branch, base=base)

    stray = repo / ".worktrees" / "run-2-x"
    stray.mkdir()
    with pytest.raises(HerdrError, match=f"git finds {repo} from there"):
        verify(stray, root=repo, branch=branch, base=base)
    other = make_repo(name="other")
    with pytest.raises(HerdrError, match="another repo"):
        verify(other, root=repo, branch=branch, base=base)
    later = commit(repo, {"solve.py": "print(3)\n"})
    with pytest.raises(HerdrError, match="does not start from"):
        verify(made.path, root=repo, branch=branch, base=later)
    git(made.path, "switch", "-q", "-c", "mine")
    with pytest.raises(HerdrError, match="is on mine and not on piloop/p/run-1"):
        verify(made.path, root=repo, branch=branch, base=base)
    git(made.path, "switch", "-q", "--detach")
    with pytest.raises(HerdrError, match="is on no branch"):
        verify(made.path, root=repo, branch=branch, base=base)


def test_scoring_worktrees(repo: Path, tmp_path: Path, commit: Callable[..., str]) -> None:
    first = head_commit(repo)
    second = commit(repo, {"solve.py": "print(2)\n"})
    path = tmp_path / "home" / "evaluations" / "1" / "worktree"
    made = create_detached(repo, path, first)
    assert made.branch is None
    assert (path / "solve.py").read_text() == "print(1)\n"
    verify_detached(path, root=repo, commit=first)
    with pytest.raises(HerdrError, match="and not at"):
        verify_detached(path, root=repo, commit=second)
    (path / "solve.py").write_text("debris")
    (path / "away").symlink_to(repo)
    remove_detached(repo, path)
    remove_detached(repo, path)
    assert not path.exists()
    assert (repo / "solve.py").exists()
    assert leftovers_in_git(repo) == []


def test_a_run_that_starts_again_finds_its_worktree(repo: Path, start: Start, git: Git) -> None:
    made = start(1)
    (made.path / "work").write_text("half done")
    again = ensure_run_worktree(repo, path=made.path, branch="piloop/p/run-1", commit="HEAD")
    assert (again.path, again.branch) == (made.path, made.branch)
    assert (made.path / "work").exists()
    with pytest.raises(RefusedError, match="exists already"):
        ensure_run_worktree(repo, path=made.path, branch="piloop/p/run-2", commit="HEAD")
    git(repo, "worktree", "add", "-q", "-b", "theirs", str(repo / "theirs"))
    with pytest.raises(RefusedError, match="exists already"):
        ensure_run_worktree(repo, path=repo / "theirs", branch="theirs", commit="HEAD")


def test_a_worktree_whose_folder_was_deleted_is_made_again_from_its_branch(
    repo: Path, start: Start, git: Git
) -> None:
    made = start(1)
    git(made.path, "commit", "-q", "--allow-empty", "-m", "work")
    tip = git(made.path, "rev-parse", "HEAD")
    subprocess.run(["rm", "-r", made.path], check=True)
    again = ensure_run_worktree(repo, path=made.path, branch="piloop/p/run-1", commit="HEAD")
    assert git(again.path, "rev-parse", "HEAD") == tip
    verify(again.path, root=repo, branch="piloop/p/run-1", base=head_commit(repo))


def test_a_killed_scoring_is_cleared_away(repo: Path, tmp_path: Path) -> None:
    made = create_detached(repo, tmp_path / "eval", "HEAD")
    (repo / ".git" / "worktrees" / "eval" / "herdr.json").rename(repo / ".git" / "herdr" / "undo-1.json")
    remove_detached(repo, made.path)
    assert not made.path.exists()
    assert leftovers_in_git(repo) == []


def test_only_scoring_worktrees_are_removed_by_force(repo: Path, tmp_path: Path, start: Start, git: Git) -> None:
    run = start(1).path
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "users"))
    (tmp_path / "plain").mkdir()
    for path in (run, tmp_path / "users", tmp_path / "plain", repo):
        with pytest.raises(RefusedError, match="no scoring worktree"):
            remove_detached(repo, path)
        assert path.exists()


def test_a_half_removed_one_can_be_removed(repo: Path, tmp_path: Path) -> None:
    made = create_detached(repo, tmp_path / "eval", "HEAD")
    (made.path / ".git").unlink()
    remove_detached(repo, made.path)
    assert not made.path.exists()
    assert leftovers_in_git(repo) == []


def test_read_only_folders_go_too(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "mod"
    folder.mkdir(parents=True)
    (folder / "x.go").write_text("x")
    folder.chmod(0o555)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o555)
    (tmp_path / "cache" / "link").symlink_to(outside)
    delete_tree(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    assert outside.stat().st_mode & 0o777 == 0o555


def test_a_repo_that_cannot_be_written_to(repo: Path, start: Start) -> None:
    (repo / ".git" / "herdr").write_text("in the way")
    with pytest.raises(HerdrError, match=f"cannot write to {repo}/.git"):
        start(1)


def test_the_lock_holds_threads_apart(repo: Path) -> None:
    inside, most = [0], [0]

    def work(_: int) -> None:
        with repo_lock(common_dir(repo)):
            inside[0] += 1
            most[0] = max(most[0], inside[0])
            threading.Event().wait(0.01)
            inside[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert most == [1]


def test_a_worktree_outside_the_repo_finds_its_way_back(repo: Path, tmp_path: Path) -> None:
    made = create_run_worktree(repo, path=tmp_path / "far", branch="piloop/p/run-9", commit="HEAD")
    assert find_root(made.path) == repo
