"""Slugs, branches and worktrees: how things are named after a thesis."""

from __future__ import annotations

import re

from herdr_polyresearch.protocol.scalars import read_integer

WORKTREES = ".worktrees"
LONGEST = 100
"""Bytes of a slug in a branch or directory: a file system takes 255, and `-attempt-<n>` must fit too."""


def slug(title: str) -> str:
    """Turn a title into a slug: ASCII letters and digits in lower case, any run of others one dash.

    It has no length limit and can be empty, as for a title without ASCII letters.
    """
    return re.sub("[^a-z0-9]+", "-", re.sub("[A-Z]+", lambda m: m[0].lower(), title)).strip("-")


def thesis_stem(number: int, title: str) -> str:
    """Return `<issue>-<slug>`, with the slug cut to a length that file systems take and never empty.

    Args:
        number: the issue's.
        title: the issue's.
    """
    return f"{number}-{slug(title)[:LONGEST].strip('-') or 'thesis'}"


def thesis_branch(number: int, title: str) -> str:
    """Return the branch that a claim creates.

    Args:
        number: the issue's.
        title: the issue's.
    """
    return f"thesis/{thesis_stem(number, title)}"


def worktree_name(number: int, title: str) -> str:
    """Return the worktree of a claim, relative to the repository's root.

    Args:
        number: the issue's.
        title: the issue's.
    """
    return f"{WORKTREES}/{thesis_stem(number, title)}"


def attempt_branch(thesis: str, number: int) -> str:
    """Return the sub-branch of the attempt with that number, counted from 1.

    Args:
        thesis: the branch of the thesis.
        number: the attempt's.
    """
    return f"{thesis}-attempt-{number}"


def thesis_of(branch: str) -> int | None:
    """Return the number of the thesis that a branch belongs to: `thesis/`, digits, a dash; None for any other."""
    digits, dash, _ = branch.removeprefix("thesis/").partition("-")
    return read_integer(digits) if dash and branch.startswith("thesis/") else None


def belongs(branch: str, number: int) -> bool:
    """Whether a branch is named as one of that thesis.

    Args:
        branch: its name.
        number: the thesis's.
    """
    return branch.startswith(f"thesis/{number}-")


def same_commit(one: str, other: str) -> bool:
    """Whether two commits, either of which may be abbreviated, are the same; an empty one is the same as none.

    Args:
        one: a commit's id, whole or its first 7 digits and more.
        other: likewise.
    """
    one, other = one.lower(), other.lower()
    short, long = sorted((one, other), key=len)
    return bool(short) and (one == other or (len(short) >= 7 and long.startswith(short)))
