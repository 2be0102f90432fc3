"""The local forge: SQLite beside a bare git repository, for everybody on this machine, with no account."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

from herdr_polyresearch.forge import changes, rows
from herdr_polyresearch.forge.bare import BareRepo
from herdr_polyresearch.forge.base import (
    CAPABILITIES,
    AccessError,
    ChangedFile,
    Comment,
    ConflictError,
    Issue,
    PullRequest,
    RateStatus,
    RejectedError,
    Repo,
    Snapshot,
    StaleHeadError,
)


def utc_now() -> datetime:
    """The time."""
    return datetime.now(timezone.utc)


class LocalForge:
    """One local forge, seen by one of its users; safe for many processes at once.

    What its methods are given is explained at `Forge`.

    Args:
        folder: where `forge.db` and `repo.git` are.
        login: who we are.
        now: the time.
    """

    name: Literal["local"] = "local"
    capabilities = CAPABILITIES - {"quota"}

    def __init__(self, folder: Path, login: str, *, now: Callable[[], datetime] = utc_now) -> None:
        self.folder = folder
        self.login = login
        self.git = BareRepo(folder / "repo.git")
        self._now = now
        self._database = rows.connect(folder / "forge.db")

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    # --- reading ----------------------------------------------------------------------------------------------

    def whoami(self) -> str:
        """Our login."""
        return self.login

    def repo(self) -> Repo:
        """The repository; collaborators are None when nobody was named, so that everybody may do everything."""
        return rows.read_repo(self._database)

    def snapshot(self) -> Snapshot:
        """All of it, as of one moment."""
        self._follow_branches()
        with self._transaction("DEFERRED") as database:
            return Snapshot(
                repo=rows.read_repo(database),
                issues=rows.theses(database),
                pulls=rows.pulls(database),
                comments=rows.by_thread(rows.comments(database, None)),
                deleted=rows.comments(database, None, deleted=True),
            )

    def comments(self, number: int) -> tuple[Comment, ...]:
        """One thread, oldest first."""
        changes.require_thread(self._database, number)
        return rows.comments(self._database, number)

    def issue(self, number: int) -> Issue:
        """One issue."""
        changes.require_thread(self._database, number, "issue")
        return rows.read_issue(self._database, number)

    def issues(self) -> tuple[Issue, ...]:
        """Every issue, theses or not, oldest first."""
        return rows.read_issues(self._database)

    def pull(self, number: int) -> PullRequest:
        """One pull request, with its head where the branch is now."""
        self._follow_branches()
        changes.require_thread(self._database, number, "pull")
        return rows.read_pull(self._database, number)

    def changed_files(self, number: int) -> tuple[ChangedFile, ...]:
        """Every file that differs from where the branch left its base."""
        pull = self.pull(number)
        # A merged head is in the base branch, so that a comparison with it would be empty: then the base as it
        # was before the merge counts.
        base = str(self._database.execute("SELECT base_sha FROM pull WHERE number = ?", (number,)).fetchone()[0])
        if pull.state == "open":
            base = self.git.heads().get(pull.base_ref, base)
        start = self.git.merge_base(base, pull.head_sha)
        if start is None:
            raise ConflictError(
                f"#{number} and {pull.base_ref} have no commit in common",
                fix="make the branch anew from its base",
            )
        return self.git.changes(start, pull.head_sha)

    def rate_status(self) -> RateStatus:
        """No quota."""
        return RateStatus()

    def clone_url(self) -> str:
        """The path of the bare repository."""
        return str(self.git.path)

    # --- writing ----------------------------------------------------------------------------------------------

    def create_issue(
        self, title: str, body: str, *, labels: Sequence[str] = (), assignees: Sequence[str] = ()
    ) -> Issue:
        """Open an issue; labels and assignees are for collaborators."""
        with self._change() as database:
            if labels or assignees:
                self._only_collaborators("label or assign")
            number = changes.new_thread(database, "issue", title, body, self.login, self._stamp())
            changes.add_labels(database, number, labels)
            changes.add_assignees(database, number, assignees)
            return rows.read_issue(database, number)

    def comment(self, number: int, body: str) -> Comment:
        """Post a comment."""
        if not body.strip():
            raise RejectedError("a comment needs a text", fix="give one that is not empty")
        with self._change() as database:
            changes.require_thread(database, number)
            now = self._stamp()
            values = (number, self.login, body, now, now)
            query = "INSERT INTO comment (number, author, body, created_at, updated_at) VALUES (?, ?, ?, ?, ?)"
            posted = database.execute(query, values).lastrowid
            changes.touch(database, number, now)
            return changes.require_comment(database, posted or 0)

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace a comment's text; it shows as edited from then on."""
        with self._change() as database:
            found = changes.require_comment(database, comment_id)
            self._only_author(found.author, f"edit comment {comment_id}")
            # Times have whole seconds: an edit in the second of the comment must still show.
            edited = rows.text_of(max(self._now(), found.created_at + timedelta(seconds=1)))
            values = (body, edited, comment_id)
            database.execute("UPDATE comment SET body = ?, updated_at = ? WHERE id = ?", values)
            changes.touch(database, found.thread, self._stamp())

    def delete_comment(self, comment_id: int) -> None:
        """Delete a comment; the audit still shows that it was there."""
        with self._change() as database:
            found = changes.require_comment(database, comment_id)
            self._only_author(found.author, f"delete comment {comment_id}")
            database.execute("UPDATE comment SET deleted_at = ? WHERE id = ?", (self._stamp(), comment_id))
            changes.touch(database, found.thread, self._stamp())

    def close_issue(self, number: int, *, reason: Literal["completed", "not_planned"] = "completed") -> None:
        """Close an issue."""
        self._set_state(number, "issue", "closed", reason)

    def reopen_issue(self, number: int) -> None:
        """Open it again."""
        self._set_state(number, "issue", "open", None)

    def close_pr(self, number: int) -> None:
        """Close it unmerged."""
        self._set_state(number, "pull", "closed", None)

    def assign(self, number: int, logins: Sequence[str]) -> None:
        """Add assignees."""
        with self._labelling(number, "assign people") as database:
            changes.add_assignees(database, number, logins)

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Add labels."""
        with self._labelling(number, "add labels") as database:
            changes.add_labels(database, number, labels)

    def remove_label(self, number: int, label: str) -> None:
        """Take a label off."""
        with self._labelling(number, "take labels off") as database:
            database.execute("DELETE FROM label WHERE number = ? AND name = ?", (number, label))

    def create_pr(self, title: str, body: str, *, head: str, base: str) -> PullRequest:
        """Open a pull request of a branch that was pushed."""
        self._follow_branches()
        heads = self.git.heads()
        for branch in (head, base):
            if branch not in heads:
                raise RejectedError(f"there is no branch {branch}", fix=f"push it: git push origin {branch}")
        if self.git.contained(base, [heads[head]]):
            raise RejectedError(f"there are no commits between {base} and {head}", fix="commit something first")
        with self._change() as database:
            for other in changes.open_pulls(database):
                if (other["head_ref"], other["base_ref"]) == (head, base):
                    raise RejectedError(
                        f"{head} has an open pull request: #{other['number']}", fix="close it, or go on with it"
                    )
            number = changes.new_thread(database, "pull", title, body, self.login, self._stamp())
            values = (number, head, heads[head], base, heads[base])
            query = "INSERT INTO pull (number, head_ref, head_sha, base_ref, base_sha) VALUES (?, ?, ?, ?, ?)"
            database.execute(query, values)
            self.git.keep(number, heads[head])
            return rows.read_pull(database, number)

    def merge_pr(self, number: int, *, expected_sha: str, message: str = "") -> str:
        """Merge by a merge commit; merging what was merged from the same head gives that commit again."""
        self._only_collaborators("merge")
        with self._change() as database:
            changes.follow_branches(database, self.git, self._stamp(), change=True)
            changes.require_thread(database, number, "pull")
            pull = rows.read_pull(database, number)
            if pull.head_sha != expected_sha:
                raise StaleHeadError(
                    f"#{number} is at {pull.head_sha[:12]} now, not at {expected_sha[:12]}",
                    fix="check the new commits, then merge them",
                )
            if pull.merge_sha is not None:
                return pull.merge_sha
            if pull.state != "open":
                raise ConflictError(f"#{number} is closed", fix="open a new pull request of the branch")
            text = f"Merge pull request #{number} from {pull.head_ref}\n\n{message or pull.title}"
            merged, before = self.git.merge(pull.base_ref, pull.head_sha, message=text, author=self.login)
            changes.mark_merged(database, number, merged, before, self._stamp())
            return merged

    def delete_branch(self, name: str) -> None:
        """Delete a branch; its open pull requests close, as on GitHub."""
        self._only_collaborators("delete branches")
        if name == self.repo().default_branch:
            raise RejectedError(f"{name} is the default branch", fix="name another branch")
        self.git.delete_branch(name)
        self._follow_branches()

    # --- who may, and how -------------------------------------------------------------------------------------

    def _set_state(self, number: int, kind: str, state: str, reason: str | None) -> None:
        """Close or open a thread."""
        with self._change() as database:
            author = changes.require_thread(database, number, kind)["author"]
            self._only_author(author, f"change the state of #{number}")
            changes.set_state(database, number, state, reason, self._stamp())

    @contextmanager
    def _labelling(self, number: int, what: str) -> Iterator[sqlite3.Connection]:
        """A change that only collaborators make to a thread."""
        with self._change() as database:
            changes.require_thread(database, number)
            self._only_collaborators(what)
            yield database
            changes.touch(database, number, self._stamp())

    def _only_author(self, author: str, what: str) -> None:
        """Let pass whoever wrote it, and collaborators."""
        if author != self.login:
            self._only_collaborators(what)

    def _only_collaborators(self, what: str) -> None:
        """Let pass collaborators.

        Raises:
            AccessError: we are none.
        """
        named = self.repo().collaborators
        if named is not None and self.login not in named:
            raise AccessError(
                f"{self.login} may not {what} here: only {', '.join(sorted(named))} may",
                fix="act as one of them with POLYRESEARCH_LOGIN, or ask one of them",
            )

    def _follow_branches(self) -> None:
        """Bring open pull requests to where their branches are now."""
        if changes.follow_branches(self._database, self.git, self._stamp(), change=False):
            with self._change() as database:
                changes.follow_branches(database, self.git, self._stamp(), change=True)

    def _stamp(self) -> str:
        """The time, as it is stored."""
        return rows.text_of(self._now())

    def _change(self) -> AbstractContextManager[sqlite3.Connection]:
        """A transaction that waits for other writers at its start, not in its middle."""
        return self._transaction("IMMEDIATE")

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[sqlite3.Connection]:
        """All of it or nothing."""
        self._database.execute(f"BEGIN {kind}")
        try:
            yield self._database
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")
