from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.errors import RefusedError, UsageError
from herdr.repo.checks import head_commit
from herdr.repo.export import diff_text, make_branch, make_patch
from herdr.repo.furnish import furnish, make_agent_folder
from herdr.repo.own import OwnRepository
from herdr.repo.run_folder import RunFolder

Git = Callable[..., str]
Commit = Callable[..., str]
Start = Callable[..., RunFolder]
OwnOf = Callable[[Path], OwnRepository]


def test_a_branch_and_nothing_else(
    repo: Path,
    git: Git,
    start: Start,
    commit: Commit,
    user_state: Callable[[Path], dict[str, object]],
    since: int,
) -> None:
    folder = start(1)
    tip = commit(folder.place.worktree, {"solve.py": "print(2)\n"})
    folder.collect(since)
    (repo / "solve.py").write_text("dirty\n")
    (repo / "evaluate.py").write_text("staged\n")
    git(repo, "add", "evaluate.py")
    before = user_state(repo)
    make_branch(repo, "best", tip)
    assert git(repo, "rev-parse", "best") == tip
    after = user_state(repo)
    new = {".git/refs/heads/best", ".git/logs/refs/heads/best"}
    assert {name for name in after if after[name] != before.get(name)} == new
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


def test_diffs_to_read(repo: Path, own_of: OwnOf, commit: Commit) -> None:
    base = head_commit(repo)
    tip = commit(repo, {"lib/data.txt": "e\n"})
    assert "-d\n+e\n" in diff_text(own_of(repo), base, tip)
    assert "lib/data.txt | 2 +-" in diff_text(own_of(repo), base, tip, stat=True)


@pytest.fixture
def done(repo: Path, start: Start, commit: Commit, tmp_path: Path, since: int) -> tuple[RunFolder, str]:
    """The folder of a finished run with one commit, and with all that may lie around in it."""
    (repo / "data").mkdir()
    folder = start(1, link=("data",))
    furnish(folder.place, folder.own, link=["data"], workspace=tmp_path / "ws")
    make_agent_folder(folder.place, folder.own)
    worktree = folder.place.worktree
    tip = commit(worktree, {"solve.py": "print(2)\n", ".gitignore": "build/\n"})
    (worktree / "build").mkdir()
    (worktree / "build" / "out").write_text("x")
    (tmp_path / "ws" / "kept").write_text("x")
    folder.collect(since)
    return folder, tip


def test_a_clean_folder_goes_with_its_repository(
    repo: Path, done: tuple[RunFolder, str], git: Git, tmp_path: Path
) -> None:
    folder, tip = done
    assert folder.removable() is None
    folder.remove()
    folder.remove()
    assert not folder.place.worktree.exists()
    assert not folder.place.repository.exists()
    assert (tmp_path / "ws" / "kept").exists()
    assert (repo / "data").exists()
    assert git(repo, "show", f"{tip}:solve.py") == "print(2)"
    assert git(repo, "branch", "--list", "piloop/*") == ""


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("echo x > new", "it has uncommitted work"),
        ("echo x > solve.py", "it has uncommitted work"),
        ("rm solve.py", "it has uncommitted work"),
        ("git cherry-pick --no-commit main; touch $(git rev-parse --git-dir)/MERGE_HEAD", "a merge in it is not"),
    ],
)
def test_what_is_dirty_is_told(done: tuple[RunFolder, str], spoil: str, reason: str) -> None:
    folder, _ = done
    subprocess.run(spoil, shell=True, cwd=folder.place.worktree, check=True, capture_output=True)
    assert (folder.removable() or "").startswith(reason)


def test_untracked_files_that_the_person_hides_still_count(
    repo: Path, done: tuple[RunFolder, str], git: Git
) -> None:
    folder, _ = done
    for where in (repo, folder.place.worktree):
        git(where, "config", "status.showUntrackedFiles", "no")
    (folder.place.worktree / "new").write_text("x")
    assert folder.removable() == "it has uncommitted work"


def test_a_folder_deleted_by_hand_is_forgotten(done: tuple[RunFolder, str]) -> None:
    folder, _ = done
    subprocess.run(["rm", "-rf", folder.place.worktree], check=True)
    assert folder.removable() is None
    folder.remove()
    assert not folder.place.repository.exists()
