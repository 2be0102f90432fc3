"""Reading a GitHub repository: everything in few requests at first, then only what changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal

from herdr_polyresearch.forge import wire
from herdr_polyresearch.forge.base import AccessError, Comment, Issue, MissingError, PullRequest, Repo, Snapshot
from herdr_polyresearch.forge.cache import Cache, Seen, load, save
from herdr_polyresearch.forge.rest import Params, Rest
from herdr_polyresearch.forge.writes import unmarked
from herdr_polyresearch.protocol.threads import GHOST, THESIS_LABEL

#: A listing is asked again for this much of the past, because a server may show a change a little late.
OVERLAP = timedelta(seconds=10)
#: Seconds after which the repository itself (its default branch, its collaborators) is looked at again.
REPO_AGE = 3600.0
#: Seconds after which everything is read anew: what no listing of changes can show is then found too.
FULL_AGE = 24 * 3600.0
#: All listings are in the order of creation, so that nothing moves to a page that we have read already when it
#: changes while we read.
ORDER: Params = {"sort": "created", "direction": "asc"}


class Reader:
    """Reads one repository through a cache on disk.

    Args:
        rest: who asks.
        slug: `owner/name`.
        path: the file of the cache.
        capabilities: what the server can do; `comment_listing` and `pulls_as_issues` change how it is read.
    """

    def __init__(self, rest: Rest, slug: str, path: Path, capabilities: frozenset[str]) -> None:
        self.rest = rest
        self.slug = slug
        self.base = f"/repos/{slug}"
        self.path = path
        self.capabilities = capabilities

    def snapshot(self) -> Snapshot:
        """Everything that the state is derived from: two requests when nothing changed."""
        old, now = load(self.path), self.rest.clock.now()
        if old is None or old.since is None or not 0 <= now - old.full_at < FULL_AGE:
            cache = self._read_all(old)
            save(self.path, cache)
        else:
            cache = old
            if self._read_changes(cache):
                save(self.path, cache)
        return self._as_snapshot(cache)

    def repo(self) -> Repo:
        """The repository itself, read now.

        Raises:
            MissingError: it goes by another name now, or there is none.
        """
        found = self.rest.get(self.base, wire.Repository)
        if found.full_name.lower() != self.slug.lower():
            raise self._moved(found.full_name)
        return Repo(
            full_name=found.full_name,
            default_branch=found.default_branch,
            collaborators=self._collaborators(),
            has_issues=found.has_issues,
        )

    def thread(self, number: int) -> tuple[Comment, ...]:
        """All comments of one thread, read now."""
        pages = self.rest.pages(f"{self.base}/issues/{number}/comments", wire.CommentItem)
        return in_order(comment_of(item) for page in pages for item in page)

    def _read_all(self, old: Cache | None) -> Cache:
        """Read everything, and find out what of the old cache is gone."""
        now = self.rest.clock.now()
        cache = Cache(repo=self.repo(), repo_at=now, full_at=now)
        self._read_changes(cache)
        if old is not None:
            kept = {comment.id for thread in cache.comments.values() for comment in thread}
            gone = tuple(c for thread in old.comments.values() for c in thread if c.id not in kept)
            cache.deleted = (*old.deleted, *gone)
        return cache

    def _read_changes(self, cache: Cache) -> bool:
        """Bring the cache up to date; gives whether anything was different."""
        different = False
        if self.rest.clock.now() - cache.repo_at >= REPO_AGE:
            cache.repo, cache.repo_at, different = self.repo(), self.rest.clock.now(), True
        since, first = cache.since, cache.since is None
        started, items = self._list_issues(since)
        changed = [i for i in items if cache.seen.get(i.number) != seen_of(i) or is_fresh(i.updated_at, since)]
        for item in changed:
            cache.seen[item.number] = seen_of(item)
            if item.pull_request is None:
                cache.issues[item.number] = issue_of(item)
        different |= bool(changed)
        if (
            first
            or "pulls_as_issues" not in self.capabilities
            or any(i.pull_request is not None for i in changed)
        ):
            different |= self._read_pulls(cache, since)
        different |= self._read_comments(cache, changed, since)
        cache.since = started or cache.since
        return different or first

    def _list_issues(self, since: datetime | None) -> tuple[datetime | None, list[wire.IssueItem]]:
        """The issues that changed, pull requests among them, and the server's time when the listing began."""
        started, items = None, []
        for page in self.rest.pages(
            f"{self.base}/issues", wire.IssueItem, {"state": "all", **ORDER, **after(since)}
        ):
            started = started or self.rest.server_time()
            for item in page[:1]:
                found = "/".join(item.url.split("/repos/")[-1].split("/")[:2])
                if found.lower() != self.slug.lower():
                    raise self._moved(found)
            items += page
        newest = max((item.updated_at for item in items), default=None)
        return started or newest, items

    def _read_pulls(self, cache: Cache, since: datetime | None) -> bool:
        """Read the pull requests that changed; gives whether any was different."""
        query: Params = {"state": "all", **({"sort": "updated", "direction": "desc"} if since else ORDER)}
        different = False
        for page in self.rest.pages(f"{self.base}/pulls", wire.PullItem, query):
            for item in page:
                pull = pull_of(item, self.slug)
                different |= cache.pulls.get(pull.number) != pull
                cache.pulls[pull.number] = pull
            if since is not None and page and page[-1].updated_at < since - OVERLAP:
                break
        return different

    def _read_comments(self, cache: Cache, changed: list[wire.IssueItem], since: datetime | None) -> bool:
        """Read comments that are new or edited, and threads whole where their number says that some are gone."""
        listed: dict[int, dict[int, Comment]] = {}
        if "comment_listing" in self.capabilities:
            for page in self.rest.pages(
                f"{self.base}/issues/comments", wire.CommentItem, {**ORDER, **after(since)}
            ):
                for comment in map(comment_of, page):
                    listed.setdefault(comment.thread, {})[comment.id] = comment
            again = set()
        else:
            again = {item.number for item in changed if item.comments or cache.comments.get(item.number)}
            if "pulls_as_issues" not in self.capabilities:
                again |= cache.pulls.keys()
        different = False
        for number, news in listed.items():
            if is_kept(cache, number):
                thread = in_order(({c.id: c for c in cache.comments.get(number, ())} | news).values())
                different |= thread != cache.comments.get(number)
                cache.comments[number] = thread
        for item in changed:
            if not is_kept(cache, item.number):
                # If it becomes a thesis again later, then what happened meanwhile has to be read.
                cache.comments.pop(item.number, None)
        again |= {item.number for item in changed if len(cache.comments.get(item.number, ())) != item.comments}
        for number in sorted(again):
            different |= is_kept(cache, number) and self._reread(cache, number)
        return different

    def _reread(self, cache: Cache, number: int) -> bool:
        """Read one thread whole; gives whether it was different."""
        old, new = cache.comments.get(number, ()), self.thread(number)
        there = {comment.id for comment in new}
        cache.deleted += tuple(comment for comment in old if comment.id not in there)
        cache.comments[number] = new
        return old != new

    def _collaborators(self) -> frozenset[str] | None:
        """Who may push; None where we may not ask."""
        if "collaborators" not in self.capabilities:
            return None
        try:
            pages = self.rest.pages(f"{self.base}/collaborators", wire.Collaborator)
            return frozenset(row.login for page in pages for row in page if row.permissions.get("push", True))
        except (AccessError, MissingError):
            return None

    def _as_snapshot(self, cache: Cache) -> Snapshot:
        """The part of the cache that matters to the protocol."""
        theses = [issue for issue in cache.issues.values() if is_thesis(issue)]
        numbers = {issue.number for issue in theses} | cache.pulls.keys()
        return Snapshot(
            repo=cache.repo,
            issues=tuple(sorted(theses, key=lambda issue: issue.number)),
            pulls=tuple(sorted(cache.pulls.values(), key=lambda pull: -pull.number)),
            comments={number: thread for number, thread in cache.comments.items() if number in numbers},
            deleted=tuple(comment for comment in cache.deleted if comment.thread in numbers),
        )

    def _moved(self, name: str) -> MissingError:
        """The error of a repository that has another name now."""
        url = f"https://{self.rest.host.removeprefix('api.')}/{name}"
        return MissingError(
            f"{self.slug} is {name} now", fix=f"git remote set-url origin {url}, or --repo {name}"
        )


def after(since: datetime | None) -> dict[str, str | int]:
    """The part of a query that asks for what changed since then."""
    return {} if since is None else {"since": (since - OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")}


def is_fresh(moment: datetime, since: datetime | None) -> bool:
    """Whether this may have changed again in the very second in which we last looked.

    Args:
        moment: when it changed.
        since: when we last looked; None when we never did.
    """
    return since is not None and moment >= since - timedelta(seconds=1)


def is_thesis(issue: Issue) -> bool:
    """Whether it carries the label; GitHub does not tell upper from lower case in labels."""
    return any(label.lower() == THESIS_LABEL for label in issue.labels)


def is_kept(cache: Cache, number: int) -> bool:
    """Whether the comments of this thread matter.

    Args:
        cache: what is known.
        number: the issue or pull request.
    """
    return number in cache.pulls or (number in cache.issues and is_thesis(cache.issues[number]))


def in_order(comments: Iterable[Comment]) -> tuple[Comment, ...]:
    """Comments as they were posted."""
    return tuple(sorted(comments, key=lambda comment: (comment.created_at, comment.id)))


def seen_of(item: wire.IssueItem) -> Seen:
    """What of a row shows whether anything changed."""
    return Seen(item.updated_at, item.comments)


def second(moment: datetime) -> datetime:
    """A time in whole UTC seconds, as GitHub has it."""
    return moment.astimezone(timezone.utc).replace(microsecond=0)


def login_of(user: wire.User | None) -> str:
    """A user's name, or what stands for a deleted account."""
    return user.login if user is not None else GHOST


def comment_of(item: wire.CommentItem) -> Comment:
    """GitHub's comment as ours, without the mark of its write."""
    return Comment(
        id=item.id,
        thread=int(item.issue_url.rsplit("/", 1)[-1]),
        author=login_of(item.user),
        body=unmarked(item.body or ""),
        created_at=second(item.created_at),
        updated_at=second(item.updated_at),
    )


def issue_of(item: wire.IssueItem) -> Issue:
    """GitHub's issue as ours."""
    return Issue(
        number=item.number,
        title=item.title,
        author=login_of(item.user),
        created_at=second(item.created_at),
        body=unmarked(item.body or ""),
        state="open" if item.state == "open" else "closed",
        state_reason=item.state_reason,
        closed_at=second(item.closed_at) if item.closed_at else None,
        labels=tuple(label.name for label in item.labels),
        assignees=tuple(user.login for user in item.assignees),
        url=item.html_url,
    )


def pull_of(item: wire.PullItem, slug: str) -> PullRequest:
    """GitHub's pull request as ours; `slug` is the repository that it is in.

    Args:
        item: what GitHub sent.
        slug: `owner/name` of the repository that it is in.
    """
    state: Literal["open", "closed", "merged"] = "open" if item.state == "open" else "closed"
    return PullRequest(
        number=item.number,
        title=item.title,
        author=login_of(item.user),
        created_at=second(item.created_at),
        head_ref=item.head.ref,
        head_sha=item.head.sha,
        base_ref=item.base.ref,
        body=unmarked(item.body or ""),
        state="merged" if item.merged_at else state,
        closed_at=second(item.closed_at) if item.closed_at else None,
        merged_at=second(item.merged_at) if item.merged_at else None,
        merge_sha=item.merge_commit_sha if item.merged_at else None,
        assignees=tuple(user.login for user in item.assignees),
        head_repo=fork_of(item.head, slug),
        url=item.html_url,
    )


def fork_of(head: wire.End, slug: str) -> str | None:
    """The fork that a branch is in; None for the repository itself. Of a deleted fork only the owner is known.

    Args:
        head: the end of the pull request that the branch is.
        slug: `owner/name` of the repository.
    """
    owner, name = slug.split("/")
    owner = (head.label or owner).split(":")[0]
    found = head.repo.full_name if head.repo is not None else f"{owner}/{name}"
    return None if found.lower() == slug.lower() else found
