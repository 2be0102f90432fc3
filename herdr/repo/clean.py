"""Removes the worktrees of finished runs, and says why one may not go."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from herdr.errors import RefusedError
from herdr.repo.checks import common_dir, is_dirty
from herdr.repo.commits import interrupted
from herdr.repo.git import run_git
from herdr.repo.lock import repo_lock
from herdr.repo.worktrees import Worktree, discard, list_worktrees, repair

OWN_BRANCHES = "piloop/"


def removable(root: Path, worktree: Path, *, pinned: Collection[str], in_use: bool) -> str | None:
    """Why a worktree may not be removed; None when nothing would be lost.

    Ignored files (build output, our links, `.herdr/`) are not worth keeping and are no reason.

    Args:
        root: the main checkout.
        worktree: the worktree in question.
        pinned: the commits that pins keep.
        in_use: whether a run or an agent still needs it.
    """
    found = _find(root, worktree)
    if found is None:
        return "it is no worktree of this repo"
    if found.made is None:
        return "herdr did not make it"
    if in_use:
        return "it is in use"
    if found.locked:
        return "it is locked (git worktree lock)"
    if not worktree.is_dir():
        return None
    if not (worktree / ".git").is_file():
        # Without it git would use the repo around this folder, and answer for that.
        return "its .git file is gone, so git cannot say what it holds"
    unfinished = interrupted(worktree)
    if unfinished is not None:
        return f"a {unfinished} in it is not finished"
    if is_dirty(worktree):
        return "it has uncommitted work"
    if found.commit != found.made.commit and not _kept(root, found.commit, pinned):
        return f"its commit {found.commit[:12]} is not pinned"
    return None


def remove_run_worktree(root: Path, worktree: Path, *, pinned: Collection[str], in_use: bool = False) -> None:
    """Remove a run's worktree, and its branch if that is ours and pinned.

    Args:
        root: the main checkout.
        worktree: the worktree to remove.
        pinned: the commits that pins keep.
        in_use: whether a run or an agent still needs it.

    Raises:
        RefusedError: something would be lost; says what.
    """
    common = common_dir(root)
    with repo_lock(common):
        repair(root, common)
        reason = removable(root, worktree, pinned=pinned, in_use=in_use)
        found = _find(root, worktree)
        if reason is not None or found is None or found.made is None:
            raise RefusedError(f"{worktree} stays: {reason}", fix=f"Look at it: git -C {worktree} status")
        discard(root, common, worktree)
        if found.made.branch is not None:
            _drop_branch(root, found.made.branch, pinned)


def _find(root: Path, worktree: Path) -> Worktree | None:
    place = worktree.resolve()
    return next((found for found in list_worktrees(root)[1:] if found.path.resolve() == place), None)


def _kept(root: Path, commit: str, pinned: Collection[str]) -> bool:
    """Whether the commit is in the history of a pin."""
    wanted = "".join(f"{line}\n" for line in (commit, *(f"^{pin}" for pin in pinned)))
    return not run_git(root, "rev-list", "--ignore-missing", "-n", "1", "--stdin", input=wanted.encode()).out


def _drop_branch(root: Path, branch: str, pinned: Collection[str]) -> None:
    ref = f"refs/heads/{branch}"
    tip = run_git(root, "rev-parse", "-q", "--verify", ref, check=False).text
    elsewhere = any(other.branch == branch for other in list_worktrees(root))
    if branch.startswith(OWN_BRANCHES) and not elsewhere and _kept(root, tip, pinned):
        run_git(root, "update-ref", "-d", ref, tip)
