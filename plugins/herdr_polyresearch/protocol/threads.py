"""What a forge holds, as plain data: everything that the state of a project is derived from.

All times are aware datetimes in UTC. Numbers of issues and pull requests come from one sequence, so that a
comment's thread is named by its number alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

THESIS_LABEL = "thesis"
"""The one label of the protocol: an issue that carries it is a thesis."""

GHOST = "ghost"
"""The author of what a deleted account wrote."""


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """One comment on an issue or a pull request; `thread` is the number of either."""

    id: int
    thread: int
    author: str
    body: str
    created_at: datetime
    updated_at: datetime | None = None
    """Later than `created_at` when somebody edited it; None when the forge does not say."""

    @property
    def edited(self) -> bool:
        """Whether its text may not be what was posted."""
        return self.updated_at is not None and self.updated_at > self.created_at


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """An issue that is not a pull request."""

    number: int
    title: str
    author: str
    created_at: datetime
    body: str = ""
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    """`completed` or `not_planned` on a closed issue, where the forge keeps it."""
    closed_at: datetime | None = None
    labels: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    url: str = ""


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request. `state` is `merged` rather than `closed` once its commits are on the base branch."""

    number: int
    title: str
    author: str
    created_at: datetime
    head_ref: str
    head_sha: str
    """Where the head branch points now: it moves with every push."""
    base_ref: str
    body: str = ""
    state: Literal["open", "closed", "merged"] = "open"
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    merge_sha: str | None = None
    """The commit that the merge made on the base branch."""
    assignees: tuple[str, ...] = ()
    head_repo: str | None = None
    """`owner/name` of the fork that the head branch lives in; None when it is the repository itself."""
    url: str = ""


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a candidate's diff. Modes are git's, such as `100644`; None where they are not known."""

    path: str
    status: Literal["added", "modified", "removed", "renamed"] = "modified"
    previous_path: str | None = None
    """Where a renamed file came from."""
    old_mode: str | None = None
    new_mode: str | None = None


class Repo(msgspec.Struct, frozen=True, kw_only=True):
    """The repository; `full_name` is `owner/name` as the forge spells it."""

    full_name: str
    default_branch: str = "main"
    collaborators: frozenset[str] | None = None
    """Who may push; None when the forge does not let us ask."""
    has_issues: bool = True


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One consistent read of a repository.

    `issues` are those with the label `thesis`, in any state. `pulls` are all pull requests, newest first.
    `comments` holds, by thread number, every comment of those; a thread without comments may be missing.
    """

    repo: Repo
    issues: tuple[Issue, ...]
    pulls: tuple[PullRequest, ...]
    comments: Mapping[int, tuple[Comment, ...]]
    deleted: tuple[Comment, ...] = ()
    """Comments seen by an earlier read that are gone; only for the audit, they no longer count."""
