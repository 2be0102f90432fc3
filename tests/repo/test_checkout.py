"""What is seen of a change of the checkout, and that looking at it changes and runs nothing there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checkout import changes_between, read_state
from herdr.repo.own import OwnRepository

Git = Callable[..., str]
OwnOf = Callable[[Path], OwnRepository]


def everything(root: Path) -> dict[str, object]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.mark.parametrize(
    ("act", "said"),
    [
        ("echo two >> a.txt", ["a.txt"]),
        ("rm a.txt", ["a.txt"]),
        ("echo x > new.txt; git add new.txt", ["new.txt"]),
        ("git branch other", ["refs/heads/other (new)"]),
        ("git tag v1", ["refs/tags/v1 (new)"]),
        ("git checkout -q -b side", ["HEAD (was main, is side)", "refs/heads/side (new)"]),
        ("git config alias.x status", [".git/config"]),
        ("echo x > .git/hooks/pre-commit", [".git/hooks/pre-commit"]),
        ("chmod +x a.txt", ["a.txt"]),
    ],
)
def test_a_change_is_named(repo: Path, own_of: OwnOf, act: str, said: list[str]) -> None:
    (repo / "a.txt").write_text("one\n")
    os.system(f"cd '{repo}' && git add a.txt && git commit -qm a")
    own = own_of(repo)
    before = read_state(own)
    os.system(f"cd '{repo}' && {act}")
    assert changes_between(before, read_state(own)) == said


@pytest.mark.parametrize(
    "act", ["echo x > untracked.txt", "touch a.txt", "git update-ref refs/piloop/x/y/1 HEAD"]
)
def test_what_is_no_change(repo: Path, own_of: OwnOf, act: str) -> None:
    (repo / "a.txt").write_text("one\n")
    os.system(f"cd '{repo}' && git add a.txt && git commit -qm a")
    own = own_of(repo)
    before = read_state(own)
    os.system(f"cd '{repo}' && sleep 0.01 && {act}")
    assert changes_between(before, read_state(own)) == []


def test_each_further_edit_of_a_file_is_a_change(repo: Path, git: Git, own_of: OwnOf) -> None:
    (repo / "a.txt").write_text("one\n")
    git(repo, "add", "a.txt")
    git(repo, "commit", "-qm", "a")
    own = own_of(repo)
    (repo / "a.txt").write_text("two\n")
    first = read_state(own)
    (repo / "a.txt").write_text("three\n")
    assert changes_between(first, read_state(own)) == ["a.txt"]


def test_a_moved_branch_says_from_where(repo: Path, git: Git, own_of: OwnOf) -> None:
    own = own_of(repo)
    before, was = read_state(own), git(repo, "rev-parse", "HEAD")
    git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    now = git(repo, "rev-parse", "HEAD")
    assert changes_between(before, read_state(own)) == [f"refs/heads/main ({was[:8]} to {now[:8]})"]


def test_looking_writes_nothing_and_obeys_nothing(repo: Path, git: Git, own_of: OwnOf, tmp_path: Path) -> None:
    (repo / "a.txt").write_text("one\n")
    git(repo, "add", "a.txt")
    git(repo, "commit", "-qm", "a")
    own = own_of(repo)
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    program.chmod(0o755)
    for key in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.external"):
        git(repo, "config", key, str(program))
    (repo / ".git/info/attributes").write_text("* filter=x diff=x\n")
    (repo / "a.txt").write_text("two\n")
    before = everything(repo)
    assert "a.txt" in (read_state(own).files or {})
    assert everything(repo) == before
    assert not ran.exists()


def test_too_slow_is_a_problem_and_no_change(repo: Path, git: Git, own_of: OwnOf) -> None:
    own = own_of(repo)
    before = read_state(own)
    (repo / "README.md").write_text("edited\n")
    late = read_state(own, limit=0.0)
    assert (late.files, changes_between(before, late)) == (None, [])
    assert "not done after 0 seconds" in (late.problem or "")
    assert own.path in [path.parent for path in own.path.glob("*")]
    assert not list(own.path.glob("tmp-*"))
