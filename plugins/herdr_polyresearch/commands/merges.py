"""What a branch was before the default branch was merged into it: the work that its attempt measured."""

from __future__ import annotations

from herdr_polyresearch.commands.checkout import Checkout

MOST = 50
"""Merges of the default branch that are looked at; a candidate has one or two."""


def before_merges(checkout: Checkout, head: str, tip: str) -> tuple[str, ...]:
    """Return the commits from which a head differs by nothing but merges of the default branch.

    A merge may resolve conflicts, in the files that have some. One that changes anything else brings in work that
    nobody measured, and ends the search.

    Args:
        checkout: the repository that holds both commits.
        head: the candidate's present commit.
        tip: the default branch's.
    """
    found: list[str] = []
    while len(found) < MOST:
        first, *others = (checkout.git.ask("rev-parse", f"{head}^@") or "").split() or [""]
        if len(others) != 1 or not checkout.is_ancestor(others[0], tip) or not _only_merges(checkout, head):
            break
        found.append(first)
        head = first
    return tuple(found)


def _only_merges(checkout: Checkout, merge: str) -> bool:
    """Whether a merge commit differs from what git makes of its parents in conflicted files alone."""
    done = checkout.git.run(
        "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", f"{merge}^1", f"{merge}^2"
    )
    if done.code > 1:
        return False
    tree, *conflicted = done.fields
    differs = checkout.git.ask("diff-tree", "-r", "-z", "--no-renames", "--name-only", tree, merge)
    return differs is not None and set(differs.split("\0")) - {""} <= set(conflicted)
