"""Hands a candidate to the user: a branch, a patch, or text to read; the checkout is never touched."""

from __future__ import annotations

from pathlib import Path

from herdr.errors import RefusedError, UsageError
from herdr.repo.git import run_git
from herdr.repo.own import OwnRepository

#: A plumbing command, which ignores what the user configured for diffs (`diff.noprefix`, external tools): such a
#: setting would make a patch that cannot be applied.
_DIFF = ("diff-tree", "-M", "--no-ext-diff", "--no-textconv", "--no-color")


def make_branch(root: Path, name: str, commit: str) -> None:
    """Make a branch at `commit` in the user's repo.

    Args:
        root: the user's repo; its checkout stays where it is.
        name: the branch, without `refs/heads/`.
        commit: what the branch begins at.

    Raises:
        UsageError: git does not allow the name.
        RefusedError: there is such a branch already.
    """
    if run_git(root, "check-ref-format", "--branch", name, check=False).code != 0:
        raise UsageError(f"{name!r} cannot be the name of a branch", fix="Choose another name.")
    if run_git(root, "rev-parse", "-q", "--verify", f"refs/heads/{name}", check=False).code == 0:
        raise RefusedError(f"the branch {name} exists already in {root}", fix="Choose another name.")
    run_git(root, "branch", "--no-track", name, commit)


def make_patch(root: Path, base: str, commit: str) -> bytes:
    """What leads from `base` to `commit`, binary files included, for `git apply`.

    Args:
        root: the repo.
        base: the commit that the patch can be applied to.
        commit: the commit that it leads to.
    """
    return run_git(root, *_DIFF, "-p", "--binary", "--full-index", base, commit).out


def diff_text(own: OwnRepository, old: str, new: str, *, stat: bool = False) -> str:
    """What leads from one commit to another, for reading.

    Args:
        own: the project's repository of herdr's own.
        old: the commit before.
        new: the commit after.
        stat: only how much changed in which file.
    """
    shape = ("--stat=100",) if stat else ("-p",)
    return own.run(*_DIFF, "-r", *shape, old, new).out.decode("utf-8", "replace")
