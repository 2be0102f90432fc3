from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit
from herdr.repo.isolated import Isolated, create, remove
from herdr.repo.own import OwnRepository
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Start = Callable[..., RunFolder]
OwnOf = Callable[[Path], OwnRepository]


def checked_out(own: OwnRepository, folder: Path) -> tuple[Isolated, list[str]]:
    """A place at the checkout's HEAD, and what it lacks."""
    place = Isolated(repository=folder.with_suffix(".git"), worktree=folder)
    return place, create(place, own, commit=head_commit(own.root), branch=None)


@pytest.fixture
def with_modules(repo: Path, tmp_path: Path, make_repo: Callable[..., Path], git: Git) -> Path:
    """`repo` with a submodule `deps/outer` that has a submodule `inner`; their origins can be moved away."""
    inner = make_repo({"in.txt": "inner\n"}, name="origins/inner")
    outer = make_repo({"out.txt": "outer\n"}, name="origins/outer")
    git(outer, "submodule", "--quiet", "add", str(inner), "inner")
    git(outer, "commit", "-q", "-m", "inner")
    git(repo, "submodule", "--quiet", "add", "--name", "the outer", str(outer), "deps/outer")
    git(repo, "submodule", "--quiet", "update", "--init", "--recursive")
    git(repo, "commit", "-q", "-m", "outer")
    return repo


def test_nested_submodules_come_offline_and_leave_the_config_alone(
    with_modules: Path, tmp_path: Path, start: Start, user_state: Callable[[Path], dict[str, object]], git: Git
) -> None:
    (tmp_path / "origins").rename(tmp_path / "unreachable")
    before = user_state(with_modules)
    made = start(1).place.worktree
    assert (made / "deps/outer/out.txt").read_text() == "outer\n"
    assert (made / "deps/outer/inner/in.txt").read_text() == "inner\n"
    assert git(made, "status", "--porcelain") == ""
    assert user_state(with_modules) == before


def test_a_submodule_that_was_never_checked_out_is_a_warning(
    with_modules: Path, tmp_path: Path, own_of: OwnOf, git: Git
) -> None:
    git(tmp_path, "clone", "-q", str(with_modules), "clone")
    made, warnings = checked_out(own_of(tmp_path / "clone"), tmp_path / "wt")
    assert len(warnings) == 1
    assert "deps/outer is not checked out" in warnings[0]
    assert (made.worktree / "solve.py").exists()


def test_a_submodule_commit_that_is_nowhere_is_a_warning(
    with_modules: Path, tmp_path: Path, own_of: OwnOf, git: Git
) -> None:
    git(with_modules, "update-index", "--cacheinfo", f"160000,{'1' * 40},deps/outer")
    git(with_modules, "commit", "-q", "-m", "ahead")
    _, warnings = checked_out(own_of(with_modules), tmp_path / "wt")
    assert len(warnings) == 1
    assert "deps/outer could not be checked out" in warnings[0]


def test_folders_with_submodules_can_be_removed(with_modules: Path, tmp_path: Path, own_of: OwnOf) -> None:
    own = own_of(with_modules)
    made, _ = checked_out(own, tmp_path / "wt")
    remove(made, own)
    assert not made.worktree.exists()
    assert not made.repository.exists()


def test_work_in_a_submodule_leaves_the_persons_as_it_is(
    with_modules: Path, start: Start, git: Git, user_state: Callable[[Path], dict[str, object]], since: int
) -> None:
    folder = start(1)
    inner = folder.place.worktree / "deps/outer"
    before = user_state(with_modules)
    (inner / "out.txt").write_text("changed\n")
    git(inner, "commit", "-q", "-a", "-m", "in the submodule")
    git(inner, "gc", "-q", "--prune=now")
    (folder.place.worktree / "work").write_text("w")
    assert folder.collect(since) == []
    found = folder.recover("worker#1")
    assert found.commit is not None
    # Its commit lies in the run's copy alone, so a candidate that named it could not be checked out.
    changed = git(with_modules, "diff-tree", "-r", "--name-only", folder.base, found.commit.sha)
    assert changed == "work"
    state = user_state(with_modules)
    assert {name for name in before | state if before.get(name) != state.get(name)} == set()
    folder.remove()


def test_submodules_whose_repo_is_in_place(with_modules: Path, tmp_path: Path, own_of: OwnOf, git: Git) -> None:
    store = with_modules / ".git" / "modules" / "the outer"
    pointer = with_modules / "deps" / "outer" / ".git"
    pointer.unlink()
    shutil.move(store, pointer)
    git(pointer, "config", "--unset", "core.worktree")
    (tmp_path / "origins").rename(tmp_path / "unreachable")
    made, warnings = checked_out(own_of(with_modules), tmp_path / "wt")
    assert (made.worktree / "deps/outer/out.txt").exists(), warnings
