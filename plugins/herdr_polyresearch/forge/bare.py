"""The bare git repository of the local forge: its branches, what a pull request changes, and real merges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from herdr_polyresearch.forge.base import ChangedFile, ConflictError, MissingError, RejectedError
from herdr_polyresearch.git import Git

HEADS = "refs/heads/"
NO_MODE = "000000"
STATUS: Mapping[str, Literal["added", "modified", "removed", "renamed"]] = {
    "A": "added",
    "C": "added",
    "D": "removed",
    "R": "renamed",
}


class BareRepo:
    """A bare repository; every ref that a pull request needs is kept from git's garbage collection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._git = Git(path)

    def create(self, default_branch: str) -> None:
        """Make it, empty.

        Raises:
            GitError: git is missing or refuses.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        Git(self.path.parent).do("init", "-q", "--bare", "--initial-branch", default_branch, self.path)

    def heads(self) -> dict[str, str]:
        """Every branch and the commit it points to."""
        rows = self._git.do("for-each-ref", "--format=%(objectname) %(refname)", HEADS).splitlines()
        return {name.removeprefix(HEADS): sha for sha, name in (row.split(" ", 1) for row in rows)}

    def contained(self, base: str, commits: list[str]) -> set[str]:
        """Those of these commits that are part of branch `base` already.

        Args:
            base: the branch, without `refs/heads/`.
            commits: full ids of commits that the repo has.
        """
        if not commits:
            return set()
        outside = self._git.do("rev-list", "--no-walk=unsorted", *commits, f"^{HEADS}{base}").split()
        return set(commits) - set(outside)

    def merge_base(self, one: str, other: str) -> str | None:
        """The commit that both come from; None for unrelated histories.

        Args:
            one: a commit.
            other: a commit; the order makes no difference.
        """
        return self._git.ask("merge-base", one, other)

    def keep(self, number: int, sha: str) -> None:
        """Point `refs/pull/<number>/head` at a pull request's head, as GitHub does.

        Args:
            number: the pull request's number.
            sha: the full id of its head.
        """
        self._git.do("update-ref", f"refs/pull/{number}/head", sha)

    def delete_branch(self, name: str) -> None:
        """Delete a branch; one that is not there changes nothing."""
        self._git.do("update-ref", "-d", f"{HEADS}{name}")

    def changes(self, base: str, head: str) -> tuple[ChangedFile, ...]:
        """Every path that differs from `base` to `head`, with modes and the former name of a renamed one."""
        fields = self._git.do("diff-tree", "-r", "-M", "-z", "--raw", base, head).split("\0")
        found: list[ChangedFile] = []
        while len(fields) > 1:
            old, new, _, _, letter = fields.pop(0).lstrip(":").split(" ")
            first = fields.pop(0)
            moved = letter[0] in "RC"
            path = fields.pop(0) if moved else first
            found.append(
                ChangedFile(
                    path=path,
                    status=STATUS.get(letter[0], "modified"),
                    previous_path=first if letter[0] == "R" else None,
                    old_mode=None if old == NO_MODE else old,
                    new_mode=None if new == NO_MODE else new,
                )
            )
        return tuple(found)

    def merged_by(self, head: str, base: str) -> tuple[str, str]:
        """The commit that brought `head` into branch `base`, and where the branch was before it.

        Args:
            head: a commit that was merged.
            base: the branch that it went into.
        """
        merges = self._git.do(
            "rev-list", "--reverse", "--merges", "--ancestry-path", f"{head}..{HEADS}{base}"
        ).split()
        first = merges[0] if merges else head
        before = self._git.ask("rev-parse", "--verify", "-q", f"{first}^1")
        return first, before or first

    def merge(self, base: str, head: str, *, message: str, author: str) -> tuple[str, str]:
        """Merge commit `head` into branch `base`; gives the merge commit, and where the branch was before.

        The branch is moved only from the commit that was merged with, so that no push in between is lost.

        Args:
            base: the branch.
            head: the commit.
            message: of the merge commit.
            author: the login that merges.

        Raises:
            ConflictError: the two cannot be merged.
            MissingError: there is no such base branch.
        """
        who = {"GIT_AUTHOR_NAME": author, "GIT_COMMITTER_NAME": author}
        who |= {"GIT_AUTHOR_EMAIL": f"{author}@localhost", "GIT_COMMITTER_EMAIL": f"{author}@localhost"}
        for _ in range(10):
            old = self.heads().get(base)
            if old is None:
                raise MissingError(
                    f"there is no branch {base} to merge into", fix=f"push it: git push origin {base}"
                )
            tree = self.merged_tree(old, head)
            commit = self._git.do("commit-tree", tree, "-p", old, "-p", head, "-m", message, env=who)
            if self._git.holds("update-ref", f"{HEADS}{base}", commit, old):
                return commit, old
        raise RejectedError(f"branch {base} moved ten times while merging into it", fix="run it again")

    def merged_tree(self, ours: str, theirs: str) -> str:
        """The tree of a merge of two commits.

        Args:
            ours: the head of the branch that is merged into.
            theirs: the head of the pull request.

        Raises:
            ConflictError: there are conflicts; the message names the files.
        """
        done = self._git.run("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
        names = done.fields
        if done.code == 1:
            files = ", ".join(sorted(names[1:]))
            raise ConflictError(
                f"the merge has conflicts in {files}",
                fix="merge the base branch into the candidate's branch, resolve them, push, and try again",
            )
        if done.code:
            raise ConflictError(
                f"git cannot merge {theirs[:12]}: {done.err.strip()}",
                fix="check that both branches come from one history",
            )
        return names[0]
