from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.errors import HerdrError
from herdr.repo.checks import head_commit
from herdr.repo.git import GitError
from herdr.repo.merge import Conflict, merge_onto
from herdr.repo.own import OwnRepository
from herdr.repo.refs import pinned
from herdr.repo.takeover import pin

Git = Callable[..., str]
Commit = Callable[..., str]
OwnOf = Callable[[Path], OwnRepository]


def test_pins(repo: Path, own_of: OwnOf, git: Git, commit: Commit) -> None:
    first = head_commit(repo)
    second = commit(repo, {"a": "1"})
    own = own_of(repo)
    for _ in range(2):
        pin(own, {f"{own.pins}run-7/1": first, f"{own.pins}candidate/30": second})
    pin(own, {})
    assert git(repo, "rev-parse", f"{own.pins}run-7/1") == first
    assert pinned(own) == {"run-7/1": first, "candidate/30": second}
    assert pinned(own, "run-7/") == {"run-7/1": first}
    assert pinned(own, "run-/") == {}
    for name, sha in (("bad name", first), ("a..b", first), ("fine", "1" * 40)):
        with pytest.raises(HerdrError):
            pin(own, {f"{own.pins}{name}": sha})
    assert len(pinned(own)) == 2


@pytest.fixture
def two_sides(repo: Path, git: Git, commit: Commit) -> Callable[..., tuple[str, str]]:
    def make(ours: dict[str, str | None], theirs: dict[str, str | None]) -> tuple[str, str]:
        base = head_commit(repo)
        onto = commit(repo, ours)
        git(repo, "switch", "-q", "--detach", base)
        other = commit(repo, theirs)
        git(repo, "switch", "-q", "main")
        return onto, other

    return make


def test_a_merge_without_conflict(
    repo: Path,
    own_of: OwnOf,
    git: Git,
    two_sides: Callable[..., tuple[str, str]],
    user_state: Callable[[Path], dict[str, object]],
) -> None:
    onto, other = two_sides({"a": "1"}, {"b": "2", "lib/data.txt": None})
    (repo / "solve.py").write_text("dirty")
    before = user_state(repo)
    merged = merge_onto(own_of(repo), onto=onto, commit=other, message="merge\n\nbody")
    assert isinstance(merged, str)
    assert git(own_of(repo).path, "log", "-1", "--format=%P|%B", merged) == f"{onto} {other}|merge\n\nbody"
    assert git(own_of(repo).path, "ls-tree", "-r", "--name-only", merged).split() == [
        "a",
        "b",
        "evaluate.py",
        "solve.py",
    ]
    assert user_state(repo) == before
    assert merge_onto(own_of(repo), onto=onto, commit=merged, message="m") == merged


def test_conflicts_name_their_paths(repo: Path, own_of: OwnOf, two_sides: Callable[..., tuple[str, str]]) -> None:
    onto, other = two_sides(
        {"solve.py": "ours\n", "new\nü": "1", "evaluate.py": None, "lib/data.txt": "both\n"},
        {"solve.py": "theirs\n", "new\nü": "2", "evaluate.py": "changed\n", "lib/data.txt": "both\n"},
    )
    found = merge_onto(own_of(repo), onto=onto, commit=other, message="m")
    assert isinstance(found, Conflict)
    assert sorted(found.paths) == ["evaluate.py", "new\nü", "solve.py"]


def test_unrelated_histories_merge_as_far_as_they_fit(
    repo: Path, own_of: OwnOf, git: Git, commit: Commit
) -> None:
    onto = head_commit(repo)
    git(repo, "switch", "-q", "--orphan", "fresh")
    apart = commit(repo, {"b": "2"})
    clash = commit(repo, {"solve.py": "other\n"})
    assert isinstance(merge_onto(own_of(repo), onto=onto, commit=apart, message="m"), str)
    assert merge_onto(own_of(repo), onto=onto, commit=clash, message="m") == Conflict(paths=("solve.py",))


def test_a_merge_of_what_is_no_commit(repo: Path, own_of: OwnOf) -> None:
    tree = subprocess.run(
        ["git", "write-tree"], cwd=repo, capture_output=True, text=True, check=True
    ).stdout.strip()
    with pytest.raises(GitError):
        merge_onto(own_of(repo), onto=head_commit(repo), commit=tree, message="m")
