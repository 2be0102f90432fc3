"""The interface that every forge has, the errors it raises, and the names of what one may not be able to do.

A forge does not know the protocol: it stores and returns threads. Comment bodies, titles and labels are passed
through as they are. Every write is made at most once: the implementation looks for a write that may have landed
before it makes it again, and raises `WriteUnknownError` when that cannot be found out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

import msgspec

from herdr.api import HerdrError
from herdr_polyresearch.protocol.threads import (
    ChangedFile,
    Comment,
    Issue,
    PullRequest,
    Repo,
    Snapshot,
)

__all__ = [
    "CAPABILITIES",
    "AccessError",
    "ChangedFile",
    "Comment",
    "ConflictError",
    "Forge",
    "ForgeError",
    "Issue",
    "MissingError",
    "PullRequest",
    "QuotaError",
    "RateStatus",
    "RejectedError",
    "Repo",
    "Snapshot",
    "StaleHeadError",
    "UnreachableError",
    "WriteUnknownError",
]

CAPABILITIES = frozenset(
    {
        "assign",  # people can be assigned to issues and pull requests
        "changed_files",  # `changed_files` lists them; without it the caller asks git
        "comment_listing",  # all comments of a repository come in one listing
        "collaborators",  # `Repo.collaborators` is known
        "conflicts",  # a merge that conflicts is refused
        "delete_comment",
        "edit_comment",
        "expected_sha",  # `merge_pr` refuses a head that moved
        "follows_pushes",  # `PullRequest.head_sha` moves with the branch
        "pages",  # every listing goes on past its first hundred
        "permissions",  # what an outsider may not do is refused
        "pulls_as_issues",  # pull requests show in the listing of issues, so that one look finds all changes
        "quota",  # `rate_status` says something true
        "since",  # a warm read costs two requests
        "rejects_empty_pull",  # no pull request without commits, nor a second one of one branch
    }
)
"""Every capability that the contract tests know. A forge declares the subset that it has."""


class ForgeError(HerdrError):
    """The forge could not do what it was asked; nothing was changed unless the subclass says otherwise."""


class AccessError(ForgeError):
    """There is no token, the forge does not take it (401), or the account may not do this (403, not a limit)."""


class MissingError(ForgeError):
    """There is no such repository, issue, pull request, comment or branch (404, 410)."""


class RejectedError(ForgeError):
    """The forge understood and refused: validation, a pull request without commits, a second one (422)."""


class ConflictError(ForgeError):
    """The pull request cannot be merged as it is: the merge has conflicts, or it is closed (405)."""


class StaleHeadError(ForgeError):
    """The pull request's head is not the commit that was expected (409)."""


class UnreachableError(ForgeError):
    """No answer, or none that makes sense, after the retries that are safe."""


class QuotaError(ForgeError):
    """The rate limit would need a longer wait than is allowed; `resets_at` says until when, where known."""

    exit_code = 75

    def __init__(self, message: str, *, resets_at: datetime | None = None, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.resets_at = resets_at


class WriteUnknownError(ForgeError):
    """A write whose answer was lost, and which could not be looked for: it may have landed."""


class RateStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of the forge's quota; `limit` is None on a forge without one."""

    limit: int | None = None
    remaining: int | None = None
    resets_at: datetime | None = None


@runtime_checkable
class Forge(Protocol):
    """One repository on one forge, seen by one account."""

    @property
    def name(self) -> Literal["github", "local"]:
        """The word used in `--forge`."""

    @property
    def capabilities(self) -> frozenset[str]:
        """The subset of `CAPABILITIES` that this forge has."""

    def close(self) -> None:
        """Give back connections and files; the forge is of no use afterwards."""

    # --- reading ------------------------------------------------------------------------------------------

    def whoami(self) -> str:
        """Return the login of the account, as the forge spells it."""

    def repo(self) -> Repo:
        """Return the repository's name, default branch and collaborators."""

    def snapshot(self) -> Snapshot:
        """Read everything that the state is derived from, in as few requests as possible, all pages."""

    def comments(self, number: int) -> tuple[Comment, ...]:
        """Read one thread anew, oldest first, past any cache: for the read-back after a claim."""

    def issue(self, number: int) -> Issue:
        """Read one issue anew."""

    def pull(self, number: int) -> PullRequest:
        """Read one pull request anew."""

    def changed_files(self, number: int) -> tuple[ChangedFile, ...]:
        """List every file that a pull request changes, all pages, with both names of a renamed one."""

    def rate_status(self) -> RateStatus:
        """Return what is left of the quota, without using any of it up where that is possible."""

    def clone_url(self) -> str:
        """Return what `git remote add` takes, without a secret in it."""

    # --- writing ------------------------------------------------------------------------------------------

    def create_issue(
        self, title: str, body: str, *, labels: Sequence[str] = (), assignees: Sequence[str] = ()
    ) -> Issue:
        """Open an issue, with its labels from the start.

        Args:
            title: its title.
            body: its text.
            labels: such as `thesis`.
            assignees: logins.
        """

    def comment(self, number: int, body: str) -> Comment:
        """Post a comment on an issue or pull request and return it with its id and the forge's time.

        Args:
            number: the issue or pull request.
            body: the text.
        """

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace a comment's text (capability `edit_comment`).

        Args:
            comment_id: which one.
            body: its new text.
        """

    def delete_comment(self, comment_id: int) -> None:
        """Delete a comment (capability `delete_comment`)."""

    def close_issue(self, number: int, *, reason: Literal["completed", "not_planned"] = "completed") -> None:
        """Close an issue; closing a closed one changes nothing.

        Args:
            number: which one.
            reason: how it ended, as GitHub has it.
        """

    def reopen_issue(self, number: int) -> None:
        """Open a closed issue again; reopening an open one changes nothing."""

    def assign(self, number: int, logins: Sequence[str]) -> None:
        """Add assignees to an issue or pull request; those it has already stay.

        Args:
            number: the issue or pull request.
            logins: whom to add.
        """

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Add labels to an issue or pull request; those it has already stay.

        Args:
            number: the issue or pull request.
            labels: what to add.
        """

    def remove_label(self, number: int, label: str) -> None:
        """Take a label off; one that is not there changes nothing.

        Args:
            number: the issue or pull request.
            label: what to take off.
        """

    def create_pr(self, title: str, body: str, *, head: str, base: str) -> PullRequest:
        """Open a pull request of a pushed branch.

        Args:
            title: its title.
            body: its text.
            head: the branch, or `owner:branch` of a fork.
            base: the branch that it goes into.

        Raises:
            RejectedError: the branch has no commits of its own, or an open pull request already.
        """

    def merge_pr(self, number: int, *, expected_sha: str, message: str = "") -> str:
        """Merge a pull request by a merge commit and return that commit.

        Args:
            number: which one.
            expected_sha: what its head must be.
            message: of the merge commit; the forge's own when empty.

        Raises:
            ConflictError: it cannot be merged as it is.
            StaleHeadError: its head is not `expected_sha` any more.
        """

    def close_pr(self, number: int) -> None:
        """Close a pull request without merging; closing a closed one changes nothing."""

    def delete_branch(self, name: str) -> None:
        """Delete a branch of the repository; one that is not there changes nothing."""
