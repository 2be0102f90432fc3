"""Which commits of a run count, whatever the agent does to its refs."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo import takeover
from herdr.repo.checks import head_commit
from herdr.repo.commits import Commit as ReadCommit
from herdr.repo.refs import pinned
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[..., RunFolder]


def taken(folder: RunFolder, since: int) -> list[str]:
    """The run's commits after a takeover without complaints."""
    assert folder.collect(since) == []
    return [one.sha for one in folder.commits()]


def test_commits_come_into_the_persons_repo_as_pins_alone(
    repo: Path,
    start: Start,
    git: Git,
    commit: Commit,
    since: int,
    user_state: Callable[[Path], dict[str, object]],
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    one = commit(worktree, {"a": "1"})
    git(worktree, "tag", "-a", "-m", "t", "v9")
    git(worktree, "tag", "light")
    before = user_state(repo)
    assert taken(folder, since) == [one]
    two = commit(worktree, {"a": "2"})
    assert taken(folder, since) == [one, two]
    assert taken(folder, since) == [one, two]
    assert user_state(repo) == before
    prefix = folder.own.pins
    assert git(repo, "for-each-ref", "--format=%(refname) %(objectname)", "refs/piloop").splitlines() == [
        f"{prefix}run-1/1-{one[:12]} {one}",
        f"{prefix}run-1/2-{two[:12]} {two}",
        f"{prefix}run-1/base {folder.base}",
    ]
    # All of it is there, once the run's repository is not any more.
    folder.remove()
    assert git(repo, "show", f"{two}:a") == "2"
    assert git(repo, "fsck", "--connectivity-only") == ""


def test_nothing_new_costs_no_takeover(
    start: Start, commit: Commit, since: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = start(1)
    one = commit(folder.place.worktree, {"a": "1"})
    assert taken(folder, since) == [one]
    monkeypatch.setattr(takeover, "take_over", None)
    assert taken(folder, since) == [one]


def test_the_version_changes_with_head_and_branches(start: Start, git: Git, commit: Commit) -> None:
    folder = start(1)
    seen = {folder.version()}
    (folder.place.worktree / "a").write_text("1")
    git(folder.place.worktree, "add", "a")
    assert folder.version() in seen, "what is staged is no commit"
    acts = (["commit", "-q", "-m", "m"], ["branch", "x"], ["update-ref", "refs/heads/x", "HEAD~1"],
            ["checkout", "-q", "--detach"], ["pack-refs", "--all"])  # fmt: skip
    for act in acts:
        git(folder.place.worktree, *act)
        assert folder.version() not in seen, act
        seen.add(folder.version())


ACTS: dict[str, list[str]] = {
    "detached": ["git checkout -q --detach HEAD~1"],
    "back to the base": ["git checkout -q --detach main"],
    "reset": ["git reset -q --hard HEAD~1"],
    "branch deleted": ["git checkout -q --detach main", "git branch -q -D piloop/p/run-1"],
    "own branch deleted under its feet": ["git update-ref -d refs/heads/piloop/p/run-1"],
    "refs packed": ["git pack-refs --all"],
    "objects packed": ["git gc -q"],
    "reflog off": ["git config core.logAllRefUpdates false"],
    "a lock left behind": ["touch $(git rev-parse --git-dir)/HEAD.lock"],
    "a shallow file": ["git rev-parse HEAD > $(git rev-parse --git-common-dir)/shallow"],
    "replaced": ["git replace HEAD HEAD~1"],
    "grafted": ["git rev-parse HEAD > $(git rev-parse --git-common-dir)/info/grafts"],
    "a commit graph": ["git commit-graph write --reachable"],
    "no .git": ["rm .git"],
}


@pytest.mark.parametrize("acts", ACTS.values(), ids=ACTS)
def test_two_commits_count_whatever_follows(
    repo: Path, start: Start, commit: Commit, since: int, acts: list[str]
) -> None:
    folder = start(1)
    one, two = (commit(folder.place.worktree, {"a": text}) for text in "12")
    for act in acts:
        subprocess.run(act, shell=True, cwd=folder.place.worktree, check=True)
    assert taken(folder, since) == [one, two]


@pytest.mark.parametrize("how", ["amend", "rebase", "two branches", "another worktree", "a branch alone"])
def test_commits_beside_the_branch(start: Start, git: Git, commit: Commit, since: int, how: str) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    one = commit(worktree, {"a": "1"})
    if how == "amend":
        git(worktree, "commit", "-q", "--amend", "-m", "better")
        expected = [one, head_commit(worktree)]
    elif how == "rebase":
        git(worktree, "checkout", "-q", "-b", "side", "main")
        side = commit(worktree, {"b": "1"})
        git(worktree, "rebase", "-q", "side", "piloop/p/run-1")
        expected = [one, side, head_commit(worktree)]
    elif how == "two branches":
        git(worktree, "checkout", "-q", "-b", "side", "main")
        expected = [one, commit(worktree, {"b": "1"})]
        git(worktree, "checkout", "-q", "piloop/p/run-1")
    elif how == "another worktree":
        git(worktree, "worktree", "add", "-q", "--detach", "../more")
        expected = [one, commit(worktree.parent / "more", {"b": "1"})]
        git(worktree.parent / "more", "checkout", "-q", "main~0")
    else:
        tree = git(worktree, "rev-parse", "HEAD^{tree}")
        sha = git(worktree, "commit-tree", tree, "-p", "HEAD", "-m", "plumbing")
        git(worktree, "update-ref", "refs/heads/plumbed", sha)
        expected = [one, sha]
    assert sorted(taken(folder, since)) == sorted(expected)


def test_what_was_taken_over_outlives_what_the_agent_does_then(
    repo: Path, start: Start, git: Git, commit: Commit, since: int
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    one = commit(worktree, {"a": "1"})
    assert taken(folder, since) == [one]
    git(worktree, "reset", "-q", "--hard", "main")
    git(worktree, "reflog", "expire", "--expire=now", "--all")
    git(worktree, "gc", "-q", "--prune=now")
    two = commit(worktree, {"a": "2"})
    assert taken(folder, since) == [one, two]
    subprocess.run(["rm", "-rf", folder.place.repository], check=True)
    assert [c.sha for c in folder.commits()] == [one, two]
    assert git(repo, "show", f"{one}:a") == "1"


def test_what_was_there_before_is_not_the_runs(
    repo: Path, start: Start, git: Git, commit: Commit, since: int
) -> None:
    git(repo, "tag", "-a", "-m", "t", "v1")
    git(repo, "reset", "-q", "--hard", git(repo, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "later"))
    base = git(repo, "rev-parse", "HEAD~1")
    other = start(2)
    theirs = commit(other.place.worktree, {"b": "1"})
    assert taken(other, since) == [theirs]
    folder = start(1, base=base)
    worktree = folder.place.worktree
    # The default branch, another run's commit, and a history that another place has.
    mine = commit(worktree, {"c": "1"})
    git(worktree, "merge", "-q", "-m", "newer", "main")
    newer = head_commit(worktree)
    git(worktree, "fetch", "-q", str(repo), theirs)
    git(worktree, "merge", "-q", "-m", "join", theirs)
    join = head_commit(worktree)
    assert taken(folder, since) == [mine, newer, join]


def test_history_from_before_the_run_is_not_its_own(
    start: Start, git: Git, commit: Commit, make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = make_repo({"old": "1"}, name="elsewhere")
    folder = start(1)
    now = int(time.time())
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{now - 3600} +0000")
    commit(elsewhere, {"old": "2"})
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    worktree = folder.place.worktree
    git(worktree, "fetch", "-q", str(elsewhere), "main")
    git(worktree, "merge", "-q", "--allow-unrelated-histories", "-m", "join", "FETCH_HEAD")
    # The first commit of `elsewhere` is of now.
    found = {one.subject for one in _collected(folder, now)}
    assert "join" in found
    assert "change" not in found
    git(worktree, "checkout", "-q", "FETCH_HEAD")
    (problem,) = folder.collect(now)
    assert "1 commits that HEAD stood on were made before the run started" in problem


def _collected(folder: RunFolder, since: int) -> list[ReadCommit]:
    folder.collect(since)
    return list(folder.commits())


def test_too_many_are_capped_and_told(
    start: Start, commit: Commit, since: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(takeover, "MOST", 2)
    folder = start(1)
    made = [commit(folder.place.worktree, {"a": text}) for text in "123"]
    assert folder.collect(since) == ["3 commits were made, of which the last 2 count"]
    assert [one.sha for one in folder.commits()] == made[1:]


def _object(repository: Path, sha: str) -> Path:
    return repository / "objects" / sha[:2] / sha[2:]


@pytest.mark.parametrize("how", ["gone", "truncated", "another's content", "a fifo", "a link"])
def test_a_broken_commit_is_named_and_costs_no_other(
    repo: Path, start: Start, git: Git, commit: Commit, since: int, how: str, tmp_path: Path
) -> None:
    folder = start(1)
    worktree = folder.place.worktree
    good = commit(worktree, {"a": "good"})
    git(worktree, "checkout", "-q", "-b", "side", "main")
    bad = commit(worktree, {"a": "bad"})
    git(worktree, "checkout", "-q", "-b", "third", "main")
    third = commit(worktree, {"b": "third"})
    path = _object(folder.place.repository, git(worktree, "rev-parse", f"{bad}:a"))
    other = _object(folder.place.repository, git(worktree, "rev-parse", f"{good}:a"))
    content = path.read_bytes()
    path.chmod(0o644)
    path.unlink()
    if how == "truncated":
        path.write_bytes(content[:5])
    elif how == "another's content":
        path.write_bytes(other.read_bytes())
    elif how == "a fifo":
        os.mkfifo(path)
    elif how == "a link":
        (tmp_path / "elsewhere").write_bytes(content)
        path.symlink_to(tmp_path / "elsewhere")
    begin = time.monotonic()
    (problem,) = folder.collect(since)
    assert time.monotonic() - begin < 20
    assert problem.startswith(f"commit {bad[:12]} could not be taken over: ")
    assert [one.sha for one in folder.commits()] == [good, third]
    # The leftovers go onto what could be taken over.
    git(worktree, "checkout", "-q", "--detach", third)
    (worktree / "c").write_text("c")
    assert folder.recover("worker#1").commit is not None
    assert git(repo, "fsck", "--connectivity-only") == ""


def test_a_repository_without_objects(start: Start, commit: Commit, since: int) -> None:
    folder = start(1)
    commit(folder.place.worktree, {"a": "1"})
    subprocess.run(["rm", "-rf", folder.place.repository / "objects"], check=True)
    (problem,) = folder.collect(since)
    assert "no objects any more" in problem
    assert folder.commits() == []


def test_a_takeover_that_takes_too_long_is_given_up(
    start: Start, commit: Commit, since: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = start(1)
    for text in "12":
        commit(folder.place.worktree, {"a": text})
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    slow.write_text(f'#!/bin/sh\n[ "$1" = pack-objects ] && sleep 100\nexec {real} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(takeover, "DEADLINE", 0.5)
    begin = time.monotonic()
    problems = folder.collect(since)
    assert time.monotonic() - begin < 10
    assert len(problems) == 2
    assert "not done in time" in problems[0]


def test_pins_can_be_found_again_by_a_home_that_lost_its_repository(
    repo: Path, start: Start, commit: Commit, since: int, own_of: Callable[..., object]
) -> None:
    folder = start(1)
    one = commit(folder.place.worktree, {"a": "1"})
    assert taken(folder, since) == [one]
    before = pinned(folder.own)
    subprocess.run(["rm", "-rf", folder.own.path], check=True)
    own_of(repo)
    assert pinned(folder.own) == before
    assert [c.sha for c in folder.commits()] == [one]


def test_a_pin_survives_the_persons_gc(repo: Path, start: Start, git: Git, commit: Commit, since: int) -> None:
    folder = start(1)
    one = commit(folder.place.worktree, {"a": "1"})
    assert taken(folder, since) == [one]
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    git(repo, "cat-file", "-e", one)
    two = commit(folder.place.worktree, {"a": "2"})
    assert taken(folder, since) == [one, two]


def test_a_person_who_deleted_pins_gets_whole_histories_again(
    repo: Path, start: Start, git: Git, commit: Commit, since: int
) -> None:
    folder = start(1)
    one = commit(folder.place.worktree, {"a": "1"})
    assert taken(folder, since) == [one]
    git(repo, "update-ref", "-d", f"{folder.own.pins}run-1/1-{one[:12]}")
    git(repo, "gc", "-q", "--prune=now")
    two = commit(folder.place.worktree, {"a": "2"})
    assert taken(folder, since) == [one, two]
    assert git(repo, "fsck", "--connectivity-only") == ""
    git(repo, "cat-file", "-e", one)


ODD_PLACES = (
    "refs/heads/x",
    "packed-refs",
    "logs/refs/heads/x",
    "worktrees/worktree/logs/HEAD",
    "refs/stash",
    "worktrees/x/HEAD",
    "objects/info/alternates",
    f"objects/pack/pack-{'1' * 40}.idx",
)


@pytest.mark.parametrize("kind", ["fifo", "symlink", "folder", "nonsense"])
@pytest.mark.parametrize("name", ODD_PLACES)
def test_odd_files_hide_nothing(
    repo: Path, start: Start, commit: Commit, since: int, name: str, kind: str
) -> None:
    folder = start(1)
    one = commit(folder.place.worktree, {"a": "1"})
    path = folder.place.repository / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "symlink":
        path.symlink_to(repo / ".git" / "HEAD")
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("/nonexistent\n")
    begin = time.monotonic()
    folder.collect(since)
    folder.recover("worker#1")
    assert time.monotonic() - begin < 20
    assert [c.sha for c in folder.commits()] == [one]


def test_twenty_thousand_refs_and_a_long_reflog(start: Start, git: Git, commit: Commit, since: int) -> None:
    folder = start(1)
    worktree, repository = folder.place.worktree, folder.place.repository
    one = commit(worktree, {"a": "1"})
    for number in range(200):
        folder_of = repository / "refs/heads" / f"n{number}"
        folder_of.mkdir()
        for inner in range(100):
            (folder_of / str(inner)).write_text(f"{one}\n")
    line = f"{folder.base} {folder.base} A <a@b> 1700000000 +0000\tx\n".encode()
    log = folder.place.admin / "logs/HEAD"
    content = log.read_bytes()
    with log.open("wb") as file:
        for _ in range(100):
            file.write(line * (1024 * 1024 // len(line)))
        file.write(content)
    begin = time.monotonic()
    assert taken(folder, since) == [one]
    folder.version()
    assert time.monotonic() - begin < 20
