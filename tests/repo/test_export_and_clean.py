from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.errors import RefusedError, UsageError
from herdr.repo.checks import head_commit
from herdr.repo.clean import removable, remove_run_worktree
from herdr.repo.export import diff_text, make_branch, make_patch
from herdr.repo.furnish import furnish, make_agent_folder
from herdr.repo.worktrees import Worktree, create_run_worktree, list_worktrees

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[[int], Worktree]


def test_a_branch_and_nothing_else(
    repo: Path, git: Git, start: Start, commit: Commit, user_state: Callable[[Path], dict[str, object]]
) -> None:
    tip = commit(start(1).path, {"solve.py": "print(2)\n"})
    (repo / "solve.py").write_text("dirty\n")
    (repo / "evaluate.py").write_text("staged\n")
    git(repo, "add", "evaluate.py")
    before = user_state(repo)
    make_branch(repo, "best", tip)
    after = user_state(repo)
    assert after.pop("refs") == sorted([f"refs/heads/best {tip}", *before.pop("refs")])  # type: ignore[misc]
    assert after == before
    with pytest.raises(RefusedError, match="best exists already"):
        make_branch(repo, "best", head_commit(repo))
    assert git(repo, "rev-parse", "best") == tip
    for name in ("-x", "a..b", "", "x.lock"):
        with pytest.raises(UsageError, match="cannot be the name"):
            make_branch(repo, name, tip)


def test_a_patch_applies_whatever_the_users_taste(repo: Path, git: Git, commit: Commit, tmp_path: Path) -> None:
    base = head_commit(repo)
    git(tmp_path, "clone", "-q", str(repo), "clone")
    (repo / "blob").write_bytes(bytes(range(256)) * 20)
    (repo / "solve.py").chmod(0o755)
    (repo / "link").symlink_to("solve.py")
    tip = commit(repo, {"lib/data.txt": None, "ü x": "new\n", "evaluate.py": "no newline"})
    for key, value in (("diff.noprefix", "true"), ("diff.external", "false"), ("color.ui", "always")):
        git(repo, "config", key, value)
    patch = make_patch(repo, base, tip)
    subprocess.run(
        ["git", "-c", "diff.noprefix=false", "apply", "--index", "-"],
        cwd=tmp_path / "clone",
        input=patch,
        check=True,
    )
    assert git(tmp_path / "clone", "write-tree") == git(repo, "rev-parse", f"{tip}^{{tree}}")
    assert make_patch(repo, tip, tip) == b""


def test_diffs_to_read(repo: Path, commit: Commit) -> None:
    base = head_commit(repo)
    tip = commit(repo, {"lib/data.txt": "e\n"})
    assert "-d\n+e\n" in diff_text(repo, base, tip)
    assert "lib/data.txt | 2 +-" in diff_text(repo, base, tip, stat=True)


@pytest.fixture
def done(repo: Path, start: Start, commit: Commit, tmp_path: Path) -> tuple[Path, str]:
    """The worktree of a finished run with one commit, and with all that may lie around in it."""
    worktree = start(1).path
    (repo / "data").mkdir()
    furnish(worktree, root=repo, link=["data"], workspace=tmp_path / "ws")
    make_agent_folder(worktree)
    tip = commit(worktree, {"solve.py": "print(2)\n", ".gitignore": "build/\n"})
    (worktree / "build").mkdir()
    (worktree / "build" / "out").write_text("x")
    (tmp_path / "ws" / "kept").write_text("x")
    return worktree, tip


def test_a_clean_pinned_worktree_goes_with_its_branch(
    repo: Path, done: tuple[Path, str], git: Git, commit: Commit, tmp_path: Path
) -> None:
    worktree, tip = done
    assert removable(repo, worktree, pinned={tip}, in_use=False) is None
    remove_run_worktree(repo, worktree, pinned={"1" * 40, tip})
    assert not worktree.exists()
    assert len(list_worktrees(repo)) == 1
    assert git(repo, "branch", "--list", "piloop/*") == ""
    assert (tmp_path / "ws" / "kept").exists()
    assert (repo / "data").exists()


def test_a_commit_below_a_pin_is_kept_by_it(repo: Path, done: tuple[Path, str], git: Git) -> None:
    worktree, tip = done
    above = git(repo, "commit-tree", f"{tip}^{{tree}}", "-p", tip, "-m", "merge")
    assert removable(repo, worktree, pinned={above}, in_use=False) is None


def test_a_run_without_commits_has_nothing_to_lose(repo: Path, start: Start) -> None:
    worktree = start(3).path
    remove_run_worktree(repo, worktree, pinned=())
    assert not worktree.exists()


def test_what_may_not_go(repo: Path, done: tuple[Path, str], git: Git, tmp_path: Path) -> None:
    worktree, tip = done
    git(repo, "worktree", "add", "-q", "--detach", str(tmp_path / "users"))
    for path, pins, in_use, reason in (
        (worktree, {tip}, True, "it is in use"),
        (worktree, {head_commit(repo)}, False, f"its commit {tip[:12]} is not pinned"),
        (worktree, set(), False, "not pinned"),
        (tmp_path / "users", {tip}, False, "herdr did not make it"),
        (repo, {tip}, False, "no worktree of this repo"),
        (repo / "lib", {tip}, False, "no worktree of this repo"),
    ):
        assert reason in (removable(repo, path, pinned=pins, in_use=in_use) or "")
        with pytest.raises(RefusedError, match=reason):
            remove_run_worktree(repo, path, pinned=pins, in_use=in_use)
        assert path.exists()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("echo x > new", "uncommitted work"),
        ("echo x > solve.py", "uncommitted work"),
        ("rm solve.py", "uncommitted work"),
        ("git worktree lock .", "locked"),
        (
            "git cherry-pick --no-commit main; touch $(git rev-parse --git-dir)/MERGE_HEAD",
            "a merge in it is not finished",
        ),
        ("rm .git", "its .git file is gone"),
    ],
)
def test_what_is_dirty_stays(repo: Path, done: tuple[Path, str], spoil: str, reason: str) -> None:
    worktree, tip = done
    subprocess.run(spoil, shell=True, cwd=worktree, check=True, capture_output=True)
    with pytest.raises(RefusedError, match=reason):
        remove_run_worktree(repo, worktree, pinned={tip})
    assert (worktree / "evaluate.py").exists()


def test_untracked_files_that_the_user_hides_still_count(repo: Path, done: tuple[Path, str], git: Git) -> None:
    worktree, tip = done
    git(repo, "config", "status.showUntrackedFiles", "no")
    (worktree / "new").write_text("x")
    assert removable(repo, worktree, pinned={tip}, in_use=False) == "it has uncommitted work"


def test_branches_that_are_not_ours_or_not_pinned_stay(
    repo: Path, done: tuple[Path, str], git: Git, commit: Commit
) -> None:
    worktree, tip = done
    on_branch = commit(worktree, {"more": "1"})
    git(worktree, "switch", "-q", "--detach", tip)
    remove_run_worktree(repo, worktree, pinned={tip})
    assert git(repo, "rev-parse", "piloop/p/run-1") == on_branch

    thesis = create_run_worktree(repo, path=repo / ".worktrees" / "12-x", branch="thesis/12-x", commit=tip)
    remove_run_worktree(repo, thesis.path, pinned={tip})
    assert git(repo, "rev-parse", "thesis/12-x") == tip


def test_a_worktree_deleted_by_hand_is_forgotten(repo: Path, done: tuple[Path, str]) -> None:
    worktree, tip = done
    subprocess.run(["rm", "-rf", worktree], check=True)
    remove_run_worktree(repo, worktree, pinned={tip})
    assert len(list_worktrees(repo)) == 1
