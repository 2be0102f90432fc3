"""A repository on GitHub as a forge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from herdr_polyresearch.forge import wire
from herdr_polyresearch.forge.address import Address
from herdr_polyresearch.forge.base import (
    CAPABILITIES,
    AccessError,
    ChangedFile,
    Comment,
    ConflictError,
    ForgeError,
    Issue,
    MissingError,
    PullRequest,
    RateStatus,
    RejectedError,
    Repo,
    Snapshot,
    StaleHeadError,
)
from herdr_polyresearch.forge.reading import Reader, comment_of, issue_of, pull_of
from herdr_polyresearch.forge.rest import Params, Rest
from herdr_polyresearch.forge.waiting import Clock
from herdr_polyresearch.forge.writes import SPACING, Write, WriteQueue, bears, marked, new_nonce

#: Seconds for which the login of a token is remembered.
LOGIN_AGE = 3600.0
#: How far back a write without an answer is looked for.
RECENT = timedelta(minutes=5)
NEWEST: Params = {"state": "all", "sort": "created", "direction": "desc", "per_page": 100}
STATUS: Mapping[str, Literal["added", "modified", "removed", "renamed"]] = {
    "added": "added",
    "copied": "added",
    "removed": "removed",
    "renamed": "renamed",
}


class GitHubForge:
    """One repository on a GitHub, seen by the account of one token.

    What its methods are given is explained at `Forge`.

    Args:
        address: the repository.
        token: who we are.
        home: the home of herdr, for the cache and the queue of writes.
        login: whom the token must belong to; anybody when None.
        api: the root of the API where it is not the host's usual one.
        clock: how to wait.
        spacing: seconds between two writes of this login.
        lacks: capabilities that this server does not have.
        timeout: seconds until a silent server counts as gone.
    """

    name: Literal["github"] = "github"

    def __init__(
        self,
        address: Address,
        token: str,
        *,
        home: Path,
        login: str | None = None,
        api: str | None = None,
        clock: Clock | None = None,
        spacing: float = SPACING,
        lacks: frozenset[str] = frozenset(),
        timeout: int = 20,
    ) -> None:
        self.address = address
        self.capabilities = CAPABILITIES - lacks
        self.rest = Rest(api or address.api, token, clock=clock or Clock(), timeout=timeout)
        self.base = f"/repos/{address.slug}"
        self._folder = home / "forge" / self.rest.host
        self._token_file = self._folder / f"login-{hashlib.sha256(token.encode()).hexdigest()[:16]}"
        self._expected = login
        self._spacing = spacing
        self._login: str | None = None

    def close(self) -> None:
        """Close the connections."""
        self.rest.close()

    # --- reading ----------------------------------------------------------------------------------------------

    def whoami(self) -> str:
        """The token's login, remembered for an hour.

        Raises:
            AccessError: the token is not valid, or not the one of the login that was asked for.
        """
        if self._login is None:
            self._login = self._remembered() or self._ask_login()
        if self._expected is not None and self._login.lower() != self._expected.lower():
            raise AccessError(
                f"the token for {self.rest.host} belongs to {self._login}, not to {self._expected}",
                fix=f"gh auth switch --user {self._expected}, or set GITHUB_TOKEN to a token of {self._expected}",
            )
        return self._login

    def repo(self) -> Repo:
        """The repository."""
        return self._reader().repo()

    def snapshot(self) -> Snapshot:
        """Everything that the state is derived from."""
        return self._reader().snapshot()

    def comments(self, number: int) -> tuple[Comment, ...]:
        """One thread, read now."""
        return self._reader().thread(number)

    def issue(self, number: int) -> Issue:
        """One issue, read now."""
        item = self.rest.get(f"{self.base}/issues/{number}", wire.IssueItem)
        if item.pull_request is not None:
            raise MissingError(f"#{number} is a pull request, not an issue", fix="give the number of an issue")
        return issue_of(item)

    def pull(self, number: int) -> PullRequest:
        """One pull request, read now."""
        return pull_of(self._pull_item(number), self.address.slug)

    def changed_files(self, number: int) -> tuple[ChangedFile, ...]:
        """Every file that a pull request changes, with git's modes where the server tells them.

        Raises:
            RejectedError: there are more than GitHub lists.
        """
        pull = self._pull_item(number)
        pages = self.rest.pages(f"{self.base}/pulls/{number}/files", wire.FileItem)
        files = [item for page in pages for item in page]
        if pull.changed_files is not None and len(files) < pull.changed_files:
            raise RejectedError(
                f"GitHub lists only {len(files)} of the {pull.changed_files} files of #{number}",
                fix=f"look at them with git: git fetch origin refs/pull/{number}/head",
            )
        old, new = self._modes(pull.base.sha), self._modes(pull.head.sha)
        return tuple(
            ChangedFile(
                path=item.filename,
                status=STATUS.get(item.status, "modified"),
                previous_path=item.previous_filename if item.status == "renamed" else None,
                old_mode=old.get(item.previous_filename or item.filename),
                new_mode=new.get(item.filename),
            )
            for item in files
        )

    def rate_status(self) -> RateStatus:
        """What is left of this hour's requests; asking is free."""
        core = self.rest.get("/rate_limit", wire.RateLimits).resources.core
        resets = datetime.fromtimestamp(core.reset, timezone.utc)
        return RateStatus(limit=core.limit, remaining=core.remaining, resets_at=resets)

    def clone_url(self) -> str:
        """The https address, without a token."""
        return f"https://{self.address.host}/{self.address.slug}.git"

    # --- writing ----------------------------------------------------------------------------------------------

    def create_issue(
        self, title: str, body: str, *, labels: Sequence[str] = (), assignees: Sequence[str] = ()
    ) -> Issue:
        """Open an issue."""
        nonce, path = new_nonce(), f"{self.base}/issues"
        payload: dict[str, Any] = {"title": title, "body": marked(body, nonce), "labels": list(labels)}
        if assignees:
            payload["assignees"] = list(assignees)

        def landed() -> wire.IssueItem | None:
            items = self.rest.get(path, list[wire.IssueItem], NEWEST)
            return next((item for item in items if bears(item.body, nonce)), None)

        made = issue_of(self._send("POST", path, payload, f"open the issue {title}", wire.IssueItem, landed))
        if len(made.labels) < len(set(labels)):
            raise AccessError(
                f"#{made.number} was opened, but without its labels: {self.whoami()} may not label here",
                fix=f"ask a maintainer for triage or write access; #{made.number} can be closed",
            )
        return made

    def comment(self, number: int, body: str) -> Comment:
        """Post a comment."""
        nonce, path = new_nonce(), f"{self.base}/issues/{number}/comments"

        def landed() -> wire.CommentItem | None:
            recent = ((self.rest.server_time() or datetime.now(timezone.utc)) - RECENT).strftime(
                "%Y-%m-%dT%H:%M:%SZ"
            )
            pages = self.rest.pages(path, wire.CommentItem, {"since": recent})
            return next((item for page in pages for item in page if bears(item.body, nonce)), None)

        payload = {"body": marked(body, nonce)}
        return comment_of(self._send("POST", path, payload, f"comment on #{number}", wire.CommentItem, landed))

    def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace a comment's text."""
        path = f"{self.base}/issues/comments/{comment_id}"
        self._send("PATCH", path, {"body": body}, f"edit comment {comment_id}", wire.CommentItem)

    def delete_comment(self, comment_id: int) -> None:
        """Delete a comment."""
        path = f"{self.base}/issues/comments/{comment_id}"
        self._send("DELETE", path, None, f"delete comment {comment_id}", object, lambda: self._is_gone(path))

    def close_issue(self, number: int, *, reason: Literal["completed", "not_planned"] = "completed") -> None:
        """Close an issue; a closed one keeps its reason."""
        if self.issue(number).state == "open":
            self._edit("issues", number, {"state": "closed", "state_reason": reason}, "close")

    def reopen_issue(self, number: int) -> None:
        """Open an issue again."""
        self._edit("issues", number, {"state": "open"}, "reopen")

    def assign(self, number: int, logins: Sequence[str]) -> None:
        """Add assignees; GitHub passes over people who cannot be assigned."""
        path, payload = f"{self.base}/issues/{number}/assignees", {"assignees": list(logins)}
        self._send("POST", path, payload, f"assign #{number} to {', '.join(logins)}", wire.IssueItem)

    def add_labels(self, number: int, labels: Sequence[str]) -> None:
        """Add labels."""
        path, payload = f"{self.base}/issues/{number}/labels", {"labels": list(labels)}
        self._send("POST", path, payload, f"label #{number} {', '.join(labels)}", list[wire.Label])

    def remove_label(self, number: int, label: str) -> None:
        """Take a label off."""
        if any(found.lower() == label.lower() for found in self.issue(number).labels):
            path = f"{self.base}/issues/{number}/labels/{quote(label, safe='')}"

            def landed() -> object:
                there = any(found.lower() == label.lower() for found in self.issue(number).labels)
                return None if there else True

            self._send("DELETE", path, None, f"take the label {label} off #{number}", object, landed)

    def create_pr(self, title: str, body: str, *, head: str, base: str) -> PullRequest:
        """Open a pull request of a pushed branch."""
        nonce, path = new_nonce(), f"{self.base}/pulls"
        payload = {"title": title, "body": marked(body, nonce), "head": head, "base": base}

        def landed() -> wire.PullItem | None:
            items = self.rest.get(path, list[wire.PullItem], NEWEST)
            return next((item for item in items if bears(item.body, nonce)), None)

        item = self._send("POST", path, payload, f"open a pull request of {head}", wire.PullItem, landed)
        return pull_of(item, self.address.slug)

    def merge_pr(self, number: int, *, expected_sha: str, message: str = "") -> str:
        """Merge by a merge commit; merging what was merged from the same head gives that commit again."""
        path = f"{self.base}/pulls/{number}/merge"
        payload = {
            "merge_method": "merge",
            "sha": expected_sha,
            **({"commit_message": message} if message else {}),
        }

        def merged() -> wire.Merged | None:
            item = self._expect_head(number, expected_sha)
            return wire.Merged(sha=item.merge_commit_sha) if item.merged_at and item.merge_commit_sha else None

        done = merged()
        for _ in range(3):
            if done is not None:
                break
            try:
                done = self._send("PUT", path, payload, f"merge #{number}", wire.Merged, merged)
            except StaleHeadError:
                # Either the head moved, which the next look shows, or the base branch moved while GitHub was
                # merging.
                done = merged()
        if done is None:
            raise ConflictError(
                f"#{number} could not be merged: its base moved again and again", fix="run it again"
            )
        return done.sha

    def close_pr(self, number: int) -> None:
        """Close a pull request unmerged."""
        if self.pull(number).state == "open":
            self._edit("pulls", number, {"state": "closed"}, "close")

    def delete_branch(self, name: str) -> None:
        """Delete a branch."""
        path = f"{self.base}/git/refs/heads/{quote(name)}"
        try:
            self._send("DELETE", path, None, f"delete the branch {name}", object)
        except MissingError:
            return
        except RejectedError as error:
            if "does not exist" not in str(error):
                raise

    # --- how --------------------------------------------------------------------------------------------------

    def _reader(self) -> Reader:
        """Reads through the cache of this login: another one may see more, or less."""
        path = self._folder / self.address.owner / self.address.name / f"{self.whoami()}.cache"
        return Reader(self.rest, self.address.slug, path, self.capabilities)

    def _send(
        self, verb: str, path: str, payload: object, what: str, shape: type[Any], landed: Any = None
    ) -> Any:
        """Make a change in the queue of this login."""
        queue = WriteQueue(self.rest, self._folder / f"{self.whoami()}.writes", spacing=self._spacing)
        return queue.send(Write(verb=verb, path=path, payload=payload, what=what), shape, landed)

    def _edit(self, kind: Literal["issues", "pulls"], number: int, payload: dict[str, str], what: str) -> None:
        """Change the state of a thread."""
        shape = wire.IssueItem if kind == "issues" else wire.PullItem
        self._send("PATCH", f"{self.base}/{kind}/{number}", payload, f"{what} #{number}", shape)

    def _pull_item(self, number: int) -> wire.PullItem:
        """One pull request as GitHub sends it."""
        return self.rest.get(f"{self.base}/pulls/{number}", wire.PullItem)

    def _expect_head(self, number: int, sha: str) -> wire.PullItem:
        """The pull request, when it can be merged or was.

        Raises:
            StaleHeadError: its head is another one.
            ConflictError: it is closed, or it has conflicts.
        """
        item = self._pull_item(number)
        if item.head.sha != sha:
            raise StaleHeadError(
                f"#{number} is at {item.head.sha[:12]} now, not at {sha[:12]}",
                fix="check the new commits, then merge them",
            )
        if item.merged_at is None and item.state != "open":
            raise ConflictError(f"#{number} is closed", fix="open a new pull request of the branch")
        if item.merged_at is None and item.mergeable is False:
            raise ConflictError(
                f"#{number} has conflicts with {item.base.ref}",
                fix=f"merge {item.base.ref} into {item.head.ref}, resolve them, push, and try again",
            )
        return item

    def _modes(self, sha: str) -> dict[str, str]:
        """The git modes of all files of a commit; nothing where the server does not tell."""
        try:
            tree = self.rest.get(f"{self.base}/git/trees/{sha}", wire.Tree, {"recursive": 1})
        except ForgeError:
            return {}
        return {entry.path: entry.mode for entry in tree.tree}

    def _is_gone(self, path: str) -> object:
        """Something when there is nothing at this path any more; None when there is."""
        try:
            self.rest.get(path, object)
        except MissingError:
            return True
        return None

    def _remembered(self) -> str | None:
        """The login of this token as it was found not long ago."""
        try:
            login, when = self._token_file.read_text().split(" ")
            return login if 0 <= self.rest.clock.now() - float(when) < LOGIN_AGE else None
        except (OSError, ValueError):
            return None

    def _ask_login(self) -> str:
        """Ask whose token it is, and remember it."""
        login = self.rest.get("/user", wire.User).login
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._token_file.write_text(f"{login} {self.rest.clock.now():.0f}")
        return login
