"""The repository around a command: its worktrees, its default branch and the files on it.

An agent of herdr works in a worktree of its run's own repository, which has neither the remote nor what others
have: there, what is checked out is the run's, and all else is the person's, whom the agent acts for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from herdr.api import HerdrError, checkout_of_run, collect_run, open_lock, take_lock
from herdr_polyresearch.forge.bare import BareRepo
from herdr_polyresearch.forge.base import ChangedFile
from herdr_polyresearch.git import Git, main_worktree
from herdr_polyresearch.protocol.ledger import FILE
from herdr_polyresearch.protocol.names import WORKTREES
from herdr_polyresearch.protocol.node import NODE_FILE

REMOTE = "origin"
#: Brings the refs that are named, and leaves everything else of the repository as it was.
FETCH = ("-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
#: What `git ls-remote --exit-code` says when it was answered, and found nothing.
NO_MATCH = 2
#: How far back a base of a review is looked for; each step is a commit that changes nothing but results.tsv.
SYNCS = 500
#: Stands between the commits of a log that shows hashes and names of files; git escapes it in those.
SEPARATOR = "\x01"


class Checkout:
    """The repository that a command was typed in.

    Args:
        folder: where it was typed.

    Raises:
        HerdrError: that is in no git repository.
    """

    def __init__(self, folder: Path) -> None:
        top = Git(folder).ask("rev-parse", "--show-toplevel")
        if not top:
            raise HerdrError(f"{folder} is in no git repository", fix="cd to the project's repository")
        self.root = Path(top)
        """The worktree that we are in."""
        self.here = Git(self.root)
        """git for what is checked out here."""
        persons = checkout_of_run(os.environ, self.root)
        self.in_run = persons is not None
        """Whether it is the worktree of a run, whose repository is not the one that everybody shares."""
        self.git = self.here if persons is None else Git(persons)
        """git for the history, the branches and the remote that everybody shares."""
        self.main = main_worktree(self.git) or self.git.folder
        """The main worktree, where the node file and PROGRAM.md are looked for."""

    @cached_property
    def common(self) -> Path:
        """The git directory that all worktrees share."""
        return (self.git.folder / self.git.do("rev-parse", "--git-common-dir")).resolve()

    @cached_property
    def origin(self) -> str | None:
        """The URL of the remote `origin`."""
        return self.git.ask("remote", "get-url", REMOTE)

    @property
    def branch(self) -> str | None:
        """The branch that is checked out here; None when it is none."""
        return self.here.ask("symbolic-ref", "--short", "-q", "HEAD")

    @property
    def head(self) -> str:
        """The commit that is checked out here; one of a run is in the person's repository from then on.

        Raises:
            GitError: there is none yet.
            HerdrError: the run's could not be brought over.
        """
        head = self.here.do("rev-parse", "HEAD", fix="commit something first")
        if self.in_run and self.commit(head) is None:
            self._bring(head)
        return head

    def _bring(self, head: str) -> None:
        problems = collect_run(os.environ, self.root)
        if self.commit(head) is None:
            why = "; ".join(problems) or "it is no commit that the run has made"
            raise HerdrError(
                f"{head[:12]} could not be brought into {self.main}: {why}",
                fix="make the commit anew, on top of what the run started from",
            )

    def has_branch(self, name: str) -> bool:
        """Whether a branch is taken, here or in the repository that everybody shares."""
        return any(git.holds("show-ref", "-q", "--verify", f"refs/heads/{name}") for git in (self.here, self.git))

    def push(self, branch: str) -> None:
        """Push what is checked out here to a branch of origin.

        Args:
            branch: its name there.

        Raises:
            HerdrError: it is refused, or a run's commit could not be brought over.
        """
        if self.in_run:
            # The person gets no branch for it: what is theirs are the commit's pin and the branch at origin.
            self.git.do("push", "-q", REMOTE, f"{self.head}:refs/heads/{branch}")
        else:
            self.git.do("push", "-q", "-u", REMOTE, f"HEAD:refs/heads/{branch}")

    @property
    def dirty(self) -> list[str]:
        """The tracked files that differ from the commit that is checked out here."""
        rows = self.here.do("status", "--porcelain", "--untracked-files=no").splitlines()
        return [row[3:] for row in rows]

    def commit(self, name: str) -> str | None:
        """The commit that a name stands for; None when there is none."""
        return self.git.ask("rev-parse", "-q", "--verify", f"{name}^{{commit}}")

    def is_ancestor(self, one: str, other: str) -> bool:
        """Whether one commit is part of the other's history.

        Args:
            one: the commit to look for.
            other: the commit whose history is searched.
        """
        return self.git.holds("merge-base", "--is-ancestor", one, other)

    def fetch(self, default: str) -> str | None:
        """Bring the default branch up to date; gives what git complained of."""
        if self.origin is None:
            return None
        refspec = f"+refs/heads/{default}:refs/remotes/{REMOTE}/{default}"
        done = self.git.run("fetch", *FETCH, REMOTE, refspec)
        return done.err.strip() if done.code else None

    def has_remote(self, branch: str) -> bool:
        """Whether origin has a branch, or cannot be asked."""
        asked = self.git.run("ls-remote", "--exit-code", REMOTE, f"refs/heads/{branch}")
        return asked.code != NO_MATCH

    def tip(self, default: str) -> str | None:
        """The default branch as everybody has it: the remote's; ours where that has none yet, or None."""
        return self.commit(f"refs/remotes/{REMOTE}/{default}") or self.commit(f"refs/heads/{default}")

    def file(self, commit: str | None, path: str) -> str | None:
        """A file as it is in a commit; None when it is not there.

        Args:
            commit: where to look; None has no files.
            path: the file, from the root of the repository.
        """
        done = self.git.run("cat-file", "blob", f"{commit}:{path}") if commit else None
        if done is None or done.code:
            return None
        text = done.out.decode("utf-8", "surrogateescape")
        # Python makes all line ends the same when it reads a file from disk; here it has to be done by hand.
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def fetch_pull(self, number: int, head_ref: str, head_sha: str) -> bool:
        """Fetch the head of a pull request; gives whether its commit is here now.

        Args:
            number: the pull request.
            head_ref: its branch, for a forge that keeps no ref for pull requests.
            head_sha: the commit that is wanted.
        """
        for ref in (f"refs/pull/{number}/head", f"refs/heads/{head_ref}"):
            if self.commit(head_sha):
                break
            if self.origin:
                self.git.run("fetch", *FETCH, REMOTE, f"+{ref}:refs/polyresearch/pull/{number}")
        return self.commit(head_sha) is not None

    def merge_base(self, one: str, other: str) -> str | None:
        """Where two commits went apart; None when they have nothing in common.

        Args:
            one: a commit or a branch.
            other: a commit or a branch; the order makes no difference.
        """
        return self.git.ask("merge-base", one, other)

    def changes(self, base: str, head: str) -> tuple[ChangedFile, ...]:
        """Every file that differs from where `head` left `base`."""
        start = self.merge_base(base, head)
        if start is None:
            raise HerdrError(
                f"{head[:12]} and {base[:12]} have no history in common", fix="make the branch anew from its base"
            )
        return BareRepo(self.git.folder).changes(start, head)

    def bases(self, tip: str) -> tuple[str, ...]:
        """The commits that differ from `tip` in nothing but results.tsv, itself first."""
        flags = ("--first-parent", "-m", "--name-only", f"--format={SEPARATOR}%H", "-n", str(SYNCS))
        found: list[str] = []
        for entry in self.git.do("log", *flags, tip).split(SEPARATOR)[1:]:
            commit, *files = entry.split()
            found.append(commit)
            if set(files) - {FILE}:
                break
        return tuple(found)

    def exclude(self) -> None:
        """Have git ignore what belongs to this machine, without touching a file of the repository."""
        path = self.common / "info" / "exclude"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if path.exists() else ""
        wanted = [line for line in (f"/{NODE_FILE}", f"/{WORKTREES}/") if line not in text.splitlines()]
        if wanted:
            gap = "" if not text or text.endswith("\n") else "\n"
            path.write_text("".join([text, gap, *(f"{line}\n" for line in wanted)]))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other commands from changing the worktrees of this clone meanwhile."""
        lock = open_lock(self.common / "polyresearch.lock")
        try:
            take_lock(lock, None)
            yield
        finally:
            os.close(lock)
