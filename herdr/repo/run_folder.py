"""The one handle for a run's folder and its repository; nothing else runs git or opens a file there.

Each method looks first whether the folder is still the worktree that herdr made. A folder that is not is never
launched in, committed or removed; the commits in the run's repository count all the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from herdr.repo import isolated, leftovers, takeover
from herdr.repo.commits import Commit, read_commits
from herdr.repo.files import delete_entry, read_file
from herdr.repo.isolated import Isolated, NotOursError
from herdr.repo.leftovers import Leftovers
from herdr.repo.own import OwnRepository
from herdr.repo.refs import pinned
from herdr.repo.refs_on_disk import BRANCHES, Refs, read_refs, version
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
        remotes: whether the agent's git has the person's remotes.
    """

    name: str
    own: OwnRepository
    place: Isolated
    base: str
    branch: str | None
    link: tuple[str, ...] = ()
    hooks: Path | None = None
    remotes: bool = False

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
        pins = pinned(self.own)
        tip, branch = self._next_start(self._mine(pins))
        if self.base not in pins.values():
            # It may be on no branch of the person's any more: a pin has it outlive a `git gc` there.
            takeover.pin(self.own, {f"{self.own.pins}{self.name}/base": self.base}, known=())
        delete_entry(self.place.repository)
        return isolated.create(
            self.place,
            self.own,
            commit=tip,
            branch=branch,
            refs=self._refs_of_the_person(),
            hooks=self.hooks,
            remotes=self.remotes,
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
        refs = read_refs(self.place)
        pins = pinned(self.own)
        mine = self._mine(pins)
        # Often nothing is new: HEAD has moved to where it stood before.
        if not set(refs.commits) - {self.base, *mine}:
            return list(refs.problems)
        others = [sha for name, sha in pins.items() if not self._is_mine(name)]
        known = [self.base, *others, *self._refs_of_the_person().values()]
        taken = takeover.take_over(self.place, self.own, refs, known=known, held=mine, since=since)
        fresh = [commit for commit in taken.commits if commit.sha not in mine]
        self._keep(mine, fresh, others, taken.packs)
        return list(taken.problems)

    def commits(self) -> list[Commit]:
        """The run's commits that were taken over, in order of time."""
        mine = self._mine()
        if not mine:
            return []
        found = {one.sha: one for one in read_commits(self.own, [*mine, f"^{self.base}"])}
        # One whose pin comes later is younger where the clock says the same.
        return sorted((found[sha] for sha in mine if sha in found), key=lambda one: one.committed)

    def recover(self, agent: str) -> Leftovers:
        """Commit what an ended agent left uncommitted, separately, and put the run's HEAD on it.

        Args:
            agent: who left it, such as `worker#3`.

        Raises:
            NotOursError: the folder is not the worktree that herdr made.
        """
        self.check()
        message = f"Uncommitted work of {agent}\n\n{RECOVERED}: {agent}"
        refs, mine = read_refs(self.place), self._mine()
        head = self._head(refs, mine)
        left = leftovers.commit_leftovers(self.place, self.own, message, head=head, exclude=self.link)
        if left.commit is None and refs.stash is not None and not mine:
            # It counts only when nothing else is there.
            left = leftovers.commit_stash(self.place, self.own, message, refs.stash)
        if left.commit is not None:
            self._keep(mine, [left.commit])
        if left.commit is not None and not left.stashed:
            leftovers.stand_on(self.place, self.own, left.commit.sha)
        elif head is not None and (refs.head != head or not leftovers.is_usable(self.place)):
            leftovers.stand_on(self.place, self.own, head)
        else:
            leftovers.clear_locks(self.place)
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
        head = self._head(read_refs(self.place), self._mine())
        if leftovers.is_dirty(self.place, self.own, head, self.link):
            return "it has uncommitted work"
        return None

    def uncommitted(self) -> list[str]:
        """The paths of the uncommitted work in it; none where its HEAD is a commit that herdr does not have.

        Raises:
            NotOursError: it is not the worktree that herdr made.
        """
        self.check()
        head = self._head(read_refs(self.place), self._mine())
        return leftovers.uncommitted(self.place, self.own, head, self.link) if head is not None else []

    def remove(self) -> None:
        """Delete the worktree and its repository, as one.

        Raises:
            NotOursError: the folder is not the worktree that herdr made, so it stays.
        """
        isolated.remove(self.place, self.own)

    def _is_mine(self, pin: str) -> bool:
        return pin.startswith(f"{self.name}/") and pin != f"{self.name}/base"

    def _mine(self, pins: Mapping[str, str] | None = None) -> list[str]:
        """The run's commits by their pins, in the order in which they were pinned."""
        found = pinned(self.own, f"{self.name}/") if pins is None else pins
        # The daemon and an agent that asks for it may collect at once: then a commit can have two pins.
        return list(dict.fromkeys(found[name] for name in sorted(filter(self._is_mine, found), key=_number)))

    def _keep(
        self,
        mine: Sequence[str],
        commits: Sequence[Commit],
        others: Sequence[str] = (),
        packs: Sequence[str] = (),
    ) -> None:
        names = (f"{self.own.pins}{self.name}/{len(mine) + n}-{one.sha[:12]}" for n, one in enumerate(commits, 1))
        pins = dict(zip(names, (one.sha for one in commits), strict=True))
        takeover.pin(self.own, pins, known=[self.base, *mine, *others], packs=packs)

    def _head(self, refs: Refs, mine: Sequence[str]) -> str | None:
        """The commit that the worktree's files are compared with; None on an orphan branch."""
        if refs.head is not None and self._has(refs.head, mine):
            return refs.head
        deleted = refs.branch is None or refs.branch == f"{BRANCHES}{self.branch}"
        # Its own branch was deleted, or HEAD cannot be read or taken over: the work goes on from what is known.
        return (mine[-1] if mine else self.base) if refs.head is not None or deleted else None

    def _has(self, commit: str, mine: Sequence[str]) -> bool:
        return commit == self.base or commit in mine or bool(existing(self.own, [commit]))

    def _next_start(self, mine: Sequence[str]) -> tuple[str, str | None]:
        """The commit, and the branch, that the next start goes on from where the folder is gone."""
        refs = read_refs(self.place)
        if refs.head is not None and self._has(refs.head, mine):
            return refs.head, refs.branch.removeprefix(BRANCHES) if refs.branch is not None else None
        return (mine[-1] if mine else self.base), self.branch

    def _refs_of_the_person(self) -> dict[str, str]:
        """The person's tags and default branch: they come along, and are never brought back."""
        branches = dict.fromkeys((self._default_branch(), "main", "master"))
        names = ["refs/tags", *(f"{BRANCHES}{branch}" for branch in branches)]
        if self.remotes:
            names.append("refs/remotes")
        listed = self.own.run_in_persons("for-each-ref", "--format=%(objectname) %(refname)", *names).text
        pairs = (line.split(" ", 1) for line in listed.splitlines())
        return {name: sha for sha, name in pairs}

    def _default_branch(self) -> str:
        head = os.fsdecode(read_file(self.own.common / "HEAD") or b"").strip()
        if head == "ref: refs/heads/.invalid":
            # Where refs are kept in tables, the file says nothing.
            head = f"ref: {self.own.run_in_persons('symbolic-ref', '-q', 'HEAD', check=False).text}"
        branch = head.removeprefix(f"ref: {BRANCHES}")
        return branch if branch != head and branch else "main"


def _number(pin: str) -> int:
    """The place of a pin among its run's: `run-7/12-0123456789ab` is the twelfth."""
    first = pin.rpartition("/")[2].partition("-")[0]
    return int(first) if first.isdigit() else 0
