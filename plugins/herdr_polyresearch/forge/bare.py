"""The bare git repository of the local forge: its branches, what a pull request changes, and real merges."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from herdr_polyresearch.forge.base import ChangedFile, ConflictError, ForgeError, MissingError, RejectedError

HEADS = "refs/heads/"
NO_MODE = "000000"
#: git must not act on the repository of whoever calls us, such as one that runs us from a hook.
LOCATING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")
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

    def create(self, default_branch: str) -> None:
        """Make it, empty.

        Raises:
            ForgeError: git is missing or refuses.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._run(
            "init", "-q", "--bare", "--initial-branch", default_branch, str(self.path), cwd=self.path.parent
        )

    def heads(self) -> dict[str, str]:
        """Every branch and the commit it points to."""
        rows = self._run("for-each-ref", "--format=%(objectname) %(refname)", HEADS).splitlines()
        return {name.removeprefix(HEADS): sha for sha, name in (row.split(" ", 1) for row in rows)}

    def contained(self, base: str, commits: list[str]) -> set[str]:
        """Those of these commits that are part of branch `base` already."""
        if not commits:
            return set()
        rows = self._run("rev-list", "--no-walk=unsorted", *commits, f"^{HEADS}{base}", check=False).split()
        return set(commits) - set(rows)

    def merge_base(self, one: str, other: str) -> str | None:
        """The commit that both come from; None for unrelated histories."""
        return self._run("merge-base", one, other, check=False).strip() or None

    def keep(self, number: int, sha: str) -> None:
        """Point `refs/pull/<number>/head` at a pull request's head, as GitHub does."""
        self._run("update-ref", f"refs/pull/{number}/head", sha)

    def delete_branch(self, name: str) -> None:
        """Delete a branch; one that is not there changes nothing."""
        self._run("update-ref", "-d", f"{HEADS}{name}")

    def changes(self, base: str, head: str) -> tuple[ChangedFile, ...]:
        """Every path that differs from `base` to `head`, with modes and the former name of a renamed one."""
        fields = self._run("diff-tree", "-r", "-M", "-z", "--raw", base, head).split("\0")
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
        """The commit that brought `head` into branch `base`, and where the branch was before it."""
        merges = self._run(
            "rev-list", "--reverse", "--merges", "--ancestry-path", f"{head}..{HEADS}{base}"
        ).split()
        first = merges[0] if merges else head
        before = self._run("rev-parse", "--verify", "-q", f"{first}^1", check=False).strip()
        return first, before or first

    def merge(self, base: str, head: str, *, message: str, author: str) -> tuple[str, str]:
        """Merge commit `head` into branch `base`; gives the merge commit, and where the branch was before.

        The branch is moved only from the commit that was merged with, so that no push in between is lost.

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
            commit = self._run("commit-tree", tree, "-p", old, "-p", head, "-m", message, env=who).strip()
            if self._try("update-ref", f"{HEADS}{base}", commit, old).returncode == 0:
                return commit, old
        raise RejectedError(f"branch {base} moved ten times while merging into it", fix="run it again")

    def merged_tree(self, ours: str, theirs: str) -> str:
        """The tree of a merge of two commits.

        Raises:
            ConflictError: there are conflicts; the message names the files.
        """
        done = self._try("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
        names = [name for name in done.stdout.split("\0") if name]
        if done.returncode == 1:
            files = ", ".join(sorted(names[1:]))
            raise ConflictError(
                f"the merge has conflicts in {files}",
                fix="merge the base branch into the candidate's branch, resolve them, push, and try again",
            )
        if done.returncode:
            raise ConflictError(
                f"git cannot merge {theirs[:12]}: {done.stderr.strip()}",
                fix="check that both branches come from one history",
            )
        return names[0]

    def _run(
        self, *args: str, check: bool = True, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> str:
        """What git printed.

        Raises:
            ForgeError: git is missing, or failed and `check` is set.
        """
        done = self._try(*args, cwd=cwd, env=env)
        if check and done.returncode:
            raise ForgeError(
                f"git {args[0]} failed in {self.path}: {done.stderr.strip() or done.stdout.strip()}",
                fix=f"look at it: git -C {self.path} {args[0]}",
            )
        return done.stdout

    def _try(
        self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run git here, whatever it answers."""
        git = shutil.which("git")
        if git is None:
            raise ForgeError("git is not on PATH", fix="install git 2.38 or newer")
        clean = {name: value for name, value in os.environ.items() if name not in LOCATING}
        return subprocess.run(
            [git, *args],
            cwd=cwd or self.path,
            env={**clean, "LC_ALL": "C", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )
