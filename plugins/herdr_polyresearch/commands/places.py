"""Where a claimed thesis is worked on: its branch, and a worktree of its own or the checkout that we are in."""

from __future__ import annotations

from pathlib import Path

import msgspec

from herdr_polyresearch.commands.checkout import Checkout
from herdr_polyresearch.commands.problems import GuardError
from herdr_polyresearch.git import Git
from herdr_polyresearch.protocol.names import belongs, thesis_branch, worktree_name
from herdr_polyresearch.protocol.threads import Issue

OWNER = "polyresearch-node"
"""In a worktree's git directory: the node that it was made for."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A place to work in; `path` is None in the checkout that we are in, `before` is what that was on."""

    branch: str
    path: Path | None = None
    before: str | None = None
    made: bool = True
    """Whether this command made it, so that it can be taken back."""


def make_worktree(checkout: Checkout, issue: Issue, base: str, node: str) -> Place:
    """Make the worktree of a thesis, on its branch, or take up the one that this node left.

    Raises:
        GuardError: something else is in its place.
        GitError: git cannot make it.
    """
    branch, path = (
        thesis_branch(issue.number, issue.title),
        checkout.main / worktree_name(issue.number, issue.title),
    )
    if path.exists():
        there = Git(path).ask("symbolic-ref", "--short", "-q", "HEAD") or ""
        if belongs(there, issue.number) and _owner(path) == node:
            return Place(branch=there, path=path, made=False)
        raise GuardError(
            f"{path} exists, and was not made for this claim",
            fix=f"git worktree remove {path}, if nobody needs it",
        )
    checkout.exclude()
    main = Git(checkout.main)
    main.run("worktree", "prune")
    _free(checkout, branch, base)
    main.do("worktree", "add", "-q", "--no-track", "-b", branch, path, base)
    place = Place(branch=branch, path=path)
    folder = Git(path).do("rev-parse", "--absolute-git-dir")
    (Path(folder) / OWNER).write_text(f"{node}\n", encoding="utf-8")
    return place


def use_checkout(checkout: Checkout, issue: Issue, base: str) -> Place:
    """Make the branch of a thesis in the checkout that we are in.

    Raises:
        GuardError: it has changes that nobody committed, or the branch has commits of its own.
    """
    if checkout.dirty:
        raise GuardError(
            f"{checkout.root} has changes that nobody committed: {', '.join(checkout.dirty[:5])}",
            fix="commit them first, or claim without --no-worktree",
        )
    branch = thesis_branch(issue.number, issue.title)
    before = checkout.branch or checkout.head
    _free(checkout, branch, base)
    checkout.git.do("checkout", "-q", "--no-track", "-b", branch, base)
    return Place(branch=branch, before=before)


def take_back(checkout: Checkout, place: Place) -> None:
    """Undo what was made for a claim that came to nothing."""
    if not place.made:
        return
    if place.path is not None:
        checkout.git.run("worktree", "remove", "--force", place.path)
    elif place.before is not None:
        checkout.git.run("checkout", "-q", place.before)
    checkout.git.run("branch", "-q", "-D", place.branch)


def _free(checkout: Checkout, branch: str, base: str) -> None:
    """Take an old branch away that has nothing of its own."""
    commit = checkout.commit(f"refs/heads/{branch}")
    if commit is None:
        return
    if not checkout.is_ancestor(commit, base) or checkout.git.run("branch", "-q", "-D", branch).returncode:
        raise GuardError(
            f"the branch {branch} exists, with commits of its own or in use",
            fix=f"git branch -m {branch} old/{branch}",
        )


def _owner(path: Path) -> str | None:
    folder = Git(path).ask("rev-parse", "--absolute-git-dir")
    try:
        return (Path(folder or "") / OWNER).read_text(encoding="utf-8").strip()
    except OSError:
        return None
