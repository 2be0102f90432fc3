from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.repo.checks import head_commit
from herdr.repo.worktrees import Worktree, create_detached, remove_detached

Git = Callable[..., str]
Start = Callable[[int], Worktree]


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
    made = start(1)
    assert made.warnings == ()
    assert (made.path / "deps/outer/out.txt").read_text() == "outer\n"
    assert (made.path / "deps/outer/inner/in.txt").read_text() == "inner\n"
    assert git(made.path, "status", "--porcelain") == ""
    after = user_state(with_modules)
    assert (after["config"], after["index"], after["refs"]) == (before["config"], before["index"], before["refs"])


def test_a_submodule_that_was_never_checked_out_is_a_warning(
    with_modules: Path, tmp_path: Path, git: Git
) -> None:
    git(tmp_path, "clone", "-q", str(with_modules), "clone")
    made = create_detached(tmp_path / "clone", tmp_path / "wt", "HEAD")
    assert len(made.warnings) == 1
    assert "deps/outer is not checked out" in made.warnings[0]
    assert (made.path / "solve.py").exists()


def test_a_submodule_commit_that_is_nowhere_is_a_warning(
    with_modules: Path, tmp_path: Path, start: Start, git: Git
) -> None:
    git(with_modules, "update-index", "--cacheinfo", f"160000,{'1' * 40},deps/outer")
    git(with_modules, "commit", "-q", "-m", "ahead")
    made = start(1)
    assert len(made.warnings) == 1
    assert "deps/outer could not be checked out" in made.warnings[0]


def test_worktrees_with_submodules_can_be_removed(with_modules: Path, tmp_path: Path) -> None:
    made = create_detached(with_modules, tmp_path / "wt", head_commit(with_modules))
    remove_detached(with_modules, made.path)
    assert not made.path.exists()
    assert not list((with_modules / ".git" / "worktrees").glob("*"))


def test_submodules_whose_repo_is_in_place(with_modules: Path, tmp_path: Path, git: Git) -> None:
    store = with_modules / ".git" / "modules" / "the outer"
    pointer = with_modules / "deps" / "outer" / ".git"
    pointer.unlink()
    shutil.move(store, pointer)
    git(pointer, "config", "--unset", "core.worktree")
    (tmp_path / "origins").rename(tmp_path / "unreachable")
    made = create_detached(with_modules, tmp_path / "wt", "HEAD")
    assert (made.path / "deps/outer/out.txt").exists(), made.warnings
