"""The parts of GitHub's JSON that we read. Anything else in an answer is skipped; a missing part is an error."""

from __future__ import annotations

from datetime import datetime

import msgspec


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """The base of what GitHub sends."""


class User(Wire, frozen=True, kw_only=True):
    """Somebody; absent where an account was deleted."""

    login: str


class Label(Wire, frozen=True, kw_only=True):
    """A label on an issue."""

    name: str


class Repository(Wire, frozen=True, kw_only=True):
    """The repository itself."""

    full_name: str
    default_branch: str
    has_issues: bool = True
    html_url: str = ""


class IssueItem(Wire, frozen=True, kw_only=True):
    """A row of the issues listing, which holds pull requests too."""

    number: int
    title: str
    state: str
    comments: int
    created_at: datetime
    updated_at: datetime
    url: str
    body: str | None = None
    user: User | None = None
    state_reason: str | None = None
    labels: tuple[Label, ...] = ()
    assignees: tuple[User, ...] = ()
    closed_at: datetime | None = None
    html_url: str = ""
    pull_request: dict[str, object] | None = None


class CommentItem(Wire, frozen=True, kw_only=True):
    """A comment on an issue or a pull request."""

    id: int
    issue_url: str
    created_at: datetime
    updated_at: datetime
    body: str | None = None
    user: User | None = None


class RepositoryName(Wire, frozen=True, kw_only=True):
    """A repository, as the end of a pull request names it."""

    full_name: str


class Collaborator(Wire, frozen=True, kw_only=True):
    """Somebody with access to the repository."""

    login: str
    permissions: dict[str, bool] = {}


class End(Wire, frozen=True, kw_only=True):
    """One end of a pull request. `repo` is absent where a fork was deleted, or not sent."""

    ref: str
    sha: str
    label: str | None = None
    repo: RepositoryName | None = None


class PullItem(Wire, frozen=True, kw_only=True):
    """A pull request, in a listing or alone; `merged` and `mergeable` only come alone."""

    number: int
    title: str
    state: str
    head: End
    base: End
    created_at: datetime
    updated_at: datetime
    body: str | None = None
    user: User | None = None
    closed_at: datetime | None = None
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None
    mergeable: bool | None = None
    comments: int | None = None
    changed_files: int | None = None
    draft: bool = False
    html_url: str = ""
    assignees: tuple[User, ...] = ()
    labels: tuple[Label, ...] = ()


class FileItem(Wire, frozen=True, kw_only=True):
    """A file that a pull request changes."""

    filename: str
    status: str
    previous_filename: str | None = None


class TreeEntry(Wire, frozen=True, kw_only=True):
    """One path of a git tree, with its mode."""

    path: str
    mode: str


class Tree(Wire, frozen=True, kw_only=True):
    """A git tree, with all below it."""

    tree: tuple[TreeEntry, ...]
    truncated: bool = False


class Merged(Wire, frozen=True, kw_only=True):
    """The answer to a merge."""

    sha: str


class Limit(Wire, frozen=True, kw_only=True):
    """One kind of quota."""

    limit: int
    remaining: int
    reset: int


class Limits(Wire, frozen=True, kw_only=True):
    """The quotas, of which we use one."""

    core: Limit


class RateLimits(Wire, frozen=True, kw_only=True):
    """The answer to the question what is left."""

    resources: Limits
