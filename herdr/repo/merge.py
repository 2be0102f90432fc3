"""Merges two commits into a new one without a worktree: how a keep is rebased onto a head that moved."""

from __future__ import annotations

import msgspec

from herdr.repo.git import GitError
from herdr.repo.own import OwnRepository


class Conflict(msgspec.Struct, frozen=True, kw_only=True):
    """The paths that both sides changed in ways that do not fit together."""

    paths: tuple[str, ...]


def merge_onto(own: OwnRepository, *, onto: str, commit: str, message: str) -> str | Conflict:
    """Merge `commit` onto `onto` and return the merge's id; nothing but objects is written.

    A commit whose history already holds `onto` is returned as it is.

    Args:
        own: the project's repository of herdr's own; it has both commits.
        onto: the full id of the head, the first parent.
        commit: the full id of the commit to bring there, the second parent.
        message: the merge's message.

    Raises:
        GitError: git cannot merge, for other reasons than a conflict.
    """
    if own.run("merge-base", "--is-ancestor", onto, commit, check=False).code == 0:
        return commit
    options = ("--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
    merged = own.run("merge-tree", *options, onto, commit, check=False)
    if merged.code not in (0, 1) or not merged.fields:
        raise GitError(("merge-tree", onto, commit), own.path, merged.err.strip())
    tree, *paths = merged.fields
    if merged.code == 1:
        return Conflict(paths=tuple(paths))
    return own.commit_tree(tree, parents=[onto, commit], message=message)
