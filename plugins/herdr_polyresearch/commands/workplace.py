"""Where a claimed thesis is worked on: its branch, and a worktree of its own or the checkout that we are in."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec

from herdr_polyresearch.commands.checkout import Checkout
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.git import Git
from herdr_polyresearch.protocol.model import Thesis
from herdr_polyresearch.protocol.names import attempt_branch, belongs, thesis_branch, worktree_name
from herdr_polyresearch.protocol.threads import Issue

OWNERS = "polyresearch-worktrees"
"""In the git directory that all worktrees share: a file for each worktree, with the node that it was made for."""


class Workplace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a claimed thesis is worked on.

    Args:
        branch: the branch that is checked out there.
        path: the worktree; None for the checkout that we are in.
        before: what that checkout was on.
    """

    branch: str
    path: Path | None = None
    before: str | None = None
    made: bool = True
    """Whether this command made it, so that it can be taken back."""


def make_worktree(checkout: Checkout, issue: Issue, base: str, node: str) -> Workplace:
    """Make the worktree of a thesis, on its branch, or take up the one that this node left.

    Args:
        checkout: the repository.
        issue: the thesis.
        base: the commit to start from.
        node: the id of this node.

    Raises:
        GuardError: something else is in its folder, or work that is nowhere else.
        GitError: git cannot make it.
    """
    branch = thesis_branch(issue.number, issue.title)
    path = checkout.main / worktree_name(issue.number, issue.title)
    owner = _owner(checkout, path)
    if path.exists():
        there = Git(path).ask("symbolic-ref", "--short", "-q", "HEAD") or ""
        if belongs(there, issue.number) and owner.exists() and owner.read_text(encoding="utf-8").strip() == node:
            return Workplace(branch=_renew(Checkout(path), branch, base) or there, path=path, made=False)
        raise GuardError(
            f"{path} exists, and was not made for this claim",
            fix=f"git worktree remove {path}, if nobody needs it",
        )
    checkout.exclude()
    main = Git(checkout.main)
    main.run("worktree", "prune")
    _free(main, branch, base)
    # Written before the worktree is made, so that a claim that is killed in between can be repeated.
    owner.parent.mkdir(exist_ok=True)
    owner.write_text(f"{node}\n", encoding="utf-8")
    main.do("worktree", "add", "-q", "--no-track", "-b", branch, path, base)
    return Workplace(branch=branch, path=path)


def use_checkout(checkout: Checkout, issue: Issue, base: str) -> Workplace:
    """Make the branch of a thesis in the checkout that we are in.

    Args:
        checkout: the repository.
        issue: the thesis.
        base: the commit to start from.

    Raises:
        GuardError: it has changes that nobody committed, or the branch has commits that are nowhere else.
    """
    if checkout.dirty:
        raise GuardError(
            f"{checkout.root} has changes that nobody committed: {', '.join(checkout.dirty[:5])}",
            fix="commit them first, or claim without --no-worktree",
        )
    branch = thesis_branch(issue.number, issue.title)
    if checkout.branch == branch:
        _renew(checkout, branch, base)
        return Workplace(branch=branch, made=False)
    before = checkout.branch or checkout.here.do("rev-parse", "HEAD")
    _free(checkout.here, branch, base)
    checkout.here.do("checkout", "-q", "--no-track", "-b", branch, base)
    return Workplace(branch=branch, before=before)


def free_attempt(checkout: Checkout, thesis: Thesis) -> str:
    """The first branch for another attempt that neither the trail nor this clone has.

    Args:
        checkout: this clone.
        thesis: it has the trail of its attempts.
    """
    taken = {attempt.branch for attempt in thesis.attempts}
    stem = thesis_branch(thesis.number, thesis.issue.title)
    names = (attempt_branch(stem, number) for number in itertools.count(len(thesis.attempts) + 1))
    return next(name for name in names if name not in taken and not checkout.has_branch(name))


def take_back(checkout: Checkout, workplace: Workplace) -> None:
    """Undo what was made for a claim that came to nothing.

    Args:
        checkout: the repository.
        workplace: what was made.
    """
    if not workplace.made:
        return
    git = checkout.here
    if workplace.path is not None:
        git = checkout.git
        git.run("worktree", "remove", "--force", workplace.path)
        _owner(checkout, workplace.path).unlink(missing_ok=True)
    elif workplace.before is not None:
        git.run("checkout", "-q", workplace.before)
    git.run("branch", "-q", "-D", workplace.branch)


def _renew(there: Checkout, branch: str, base: str) -> str | None:
    """Have an old workplace start from `base`, on the thesis branch; gives that, or None where it does already.

    The branches of its attempts stay. A candidate that starts from an older commit would be stale at once.
    """
    git = there.here
    if git.holds("merge-base", "--is-ancestor", base, f"refs/heads/{branch}"):
        return None
    if there.dirty:
        raise GuardError(
            f"{there.root} starts from before {base[:12]}, and has changes that nobody committed: "
            f"{', '.join(there.dirty[:5])}",
            fix=f"commit them on the branch of an attempt, or git -C {there.root} stash",
        )
    _check_kept(git, branch, base)
    git.do("checkout", "-q", "--no-track", "-B", branch, base)
    return branch


def _free(git: Git, branch: str, base: str) -> None:
    """Take an old branch away whose commits are all elsewhere, too."""
    if not git.holds("show-ref", "-q", "--verify", f"refs/heads/{branch}"):
        return
    _check_kept(git, branch, base)
    done = git.run("branch", "-q", "-D", branch)
    if done.code:
        raise GuardError(
            f"the branch {branch} exists and is in use: {done.err.strip()}",
            fix=f"git branch -m {branch} old/{branch}",
        )


def _check_kept(git: Git, branch: str, base: str) -> None:
    """See that no commit is lost when a branch moves to `base`: each is on another branch, here or at origin."""
    others = ("--not", base, f"--exclude={branch}", "--branches", "--remotes")
    known = git.holds("show-ref", "-q", "--verify", f"refs/heads/{branch}")
    if known and git.do("rev-list", "-n", "1", f"refs/heads/{branch}", *others):
        raise GuardError(
            f"the branch {branch} exists, does not start from {base[:12]}, and has commits that no other has",
            fix=f"git branch -m {branch} old/{branch}",
        )


def _owner(checkout: Checkout, path: Path) -> Path:
    return checkout.common / OWNERS / path.name
