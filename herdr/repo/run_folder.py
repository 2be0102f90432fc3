"""The one handle for a run's folder and its repository; nothing else runs git or opens a file there.

Each method looks first whether the folder is still the worktree that herdr made. A folder that is not is never
launched in, committed or removed; the commits in the run's repository count all the same.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from herdr.repo import isolated, leftovers, takeover
from herdr.repo.commits import Commit, read_commits
from herdr.repo.git import run_git
from herdr.repo.isolated import Isolated, NotOursError
from herdr.repo.leftovers import Leftovers
from herdr.repo.own import OwnRepository
from herdr.repo.refs import pinned
from herdr.repo.refs_on_disk import read_refs, version
from herdr.repo.takeover import existing

#: Marks a commit that herdr made of what an agent left uncommitted.
RECOVERED = "Piloop-Recovered"


class RunFolder(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of a run, or of a sweep.

    Attributes:
        name: what its pins and its repository go by, such as `run-7`.
        own: the project's repository of herdr's own.
        place: where the worktree and its repository are.
        base: the commit that the work starts from.
        branch: the branch that it starts on; None for a detached HEAD.
        link: paths in the worktree that are not the agent's work, relative to it.
        hooks: the folder of hooks that run for the agent's git; none by default.
    """

    name: str
    own: OwnRepository
    place: Isolated
    base: str
    branch: str | None
    link: tuple[str, ...] = ()
    hooks: Path | None = None

    def make(self) -> list[str]:
        """Make the folder, or make sure that the one that is there is ours; says what it lacks.

        One that was deleted is made again where the work stands, once its commits have been taken over.

        Raises:
            NotOursError: something else is in its place.
            GitError: git failed.
        """
        isolated.finish(self.place, self.own)
        try:
            self.check()
        except NotOursError as error:
            if error.fault == "foreign" or os.path.lexists(self.place.worktree):
                raise
        else:
            return []
        tip, branch = self._stand()
        isolated.delete_tree(self.place.repository)
        return isolated.create(
            self.place, self.own, commit=tip, branch=branch, refs=self._refs_of_the_person(), hooks=self.hooks
        )

    def check(self) -> None:
        """Make sure that the folder is the worktree that herdr made.

        Raises:
            NotOursError: it is gone, or something else.
        """
        isolated.check(self.place)

    def version(self) -> tuple[int, ...]:
        """Changes whenever the agent has moved HEAD or a branch."""
        return version(self.place)

    def collect(self, since: int) -> list[str]:
        """Take over and pin what the agent has committed so far; says what could not be taken over.

        Args:
            since: when the run started, in seconds since the epoch.
        """
        pins = pinned(self.own)
        mine = {sha for name, sha in pins.items() if name.startswith(f"{self.name}/")}
        others = [sha for sha in pins.values() if sha not in mine]
        known = [self.base, *others, *self._refs_of_the_person().values()]
        taken = takeover.take_over(self.place, self.own, known=known, since=since)
        fresh = [commit for commit in taken.commits if commit.sha not in mine]
        self._pin(len(mine), fresh)
        return list(taken.problems)

    def commits(self) -> list[Commit]:
        """The run's commits that were taken over, in order of time."""
        shas = list(pinned(self.own, f"{self.name}/").values())
        mine = set(existing(self.own, shas))
        if not mine:
            return []
        found = read_commits(self.own, [*mine, f"^{self.base}"])
        return sorted((one for one in found if one.sha in mine), key=lambda one: one.committed)

    def recover(self, agent: str) -> Leftovers:
        """Commit what an ended agent left uncommitted, separately, and put the run's HEAD on it.

        Args:
            agent: who left it, such as `worker#3`.

        Raises:
            NotOursError: the folder is not the worktree that herdr made.
        """
        message = f"Uncommitted work of {agent}\n\n{RECOVERED}: {agent}"
        # A stash counts only when nothing else is there.
        left = leftovers.commit_leftovers(
            self.place, self.own, message, exclude=self.link, stash=not self.commits()
        )
        if left.commit is not None:
            self._pin(len(pinned(self.own, f"{self.name}/")), [left.commit])
            leftovers.stand_on(self.place, self.own, left.commit.sha)
        return left

    def removable(self) -> str | None:
        """Why the folder may not be removed; None when nothing would be lost."""
        if not os.path.lexists(self.place.worktree):
            return None
        try:
            self.check()
        except NotOursError as error:
            return error.message
        unfinished = leftovers.interrupted(self.place)
        if unfinished is not None:
            return f"a {unfinished} in it is not finished"
        if leftovers.is_dirty(self.place, self.own, self.link):
            return "it has uncommitted work"
        return None

    def remove(self) -> None:
        """Delete the worktree and its repository, as one.

        Raises:
            NotOursError: the folder is not the worktree that herdr made, so it stays.
        """
        isolated.remove(self.place, self.own)

    def _pin(self, count: int, commits: Sequence[Commit]) -> None:
        names = (f"{self.own.pins}{self.name}/{count + n}-{one.sha[:12]}" for n, one in enumerate(commits, 1))
        takeover.pin(self.own, dict(zip(names, (one.sha for one in commits), strict=True)))

    def _stand(self) -> tuple[str, str | None]:
        """The commit, and the branch, that the next start goes on from."""
        refs = read_refs(self.place)
        branch = refs.branch.removeprefix("refs/heads/") if refs.branch is not None else None
        head = [refs.head] if refs.head is not None else []
        for sha in [*head, *(one.sha for one in reversed(self.commits()))]:
            if existing(self.own, [sha]):
                return sha, branch if refs.head == sha else self.branch
        return self.base, self.branch

    def _refs_of_the_person(self) -> dict[str, str]:
        """The person's tags and default branch: they come along, and are never brought back."""
        names = ("refs/tags", f"refs/heads/{self._default_branch()}")
        listed = run_git(self.own.common, "for-each-ref", "--format=%(objectname) %(refname)", *names).text
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {name: sha for sha, name in pairs}

    def _default_branch(self) -> str:
        head = isolated.read_file(self.own.common / "HEAD") or b""
        return (
            os.fsdecode(head.removeprefix(b"ref: refs/heads/").strip()) if head.startswith(b"ref: ") else "main"
        )
