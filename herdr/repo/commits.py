"""Commits as herdr reads them: what they are made of, and what their trailers ask for."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from herdr.repo.checks import SYMLINK
from herdr.repo.own import OwnRepository

NOTE, EVAL = "piloop-note", "piloop-eval"

# One record per commit; a message cannot hold the control characters between keys and values.
_TRAILERS = "%(trailers:only,unfold,separator=%x1e,key_value_separator=%x1f)"
_FORMAT = "%x00".join(["%H", "%T", "%P", "%at", "%ct", "%s", "%b", _TRAILERS, ""])
_FIELDS = 8


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit; `time` is the author's and `committed` the committer's, in seconds since 1970.

    `trailers` are as git itself reads them.
    """

    sha: str
    tree: str
    parents: tuple[str, ...]
    time: int
    committed: int
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]

    def trailer(self, key: str) -> tuple[str, ...]:
        """The values of a trailer in order, its key compared without case."""
        return tuple(value for name, value in self.trailers if name.lower() == key.lower())

    @property
    def note(self) -> str | None:
        """Why the author wants a regression kept in sight (`Piloop-Note`); several are joined with `; `."""
        return "; ".join(value for value in self.trailer(NOTE) if value) or None

    @property
    def skip(self) -> bool:
        """Whether the author asks that it is not measured (`Piloop-Eval: skip`)."""
        return "skip" in (value.strip().lower() for value in self.trailer(EVAL))


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One path that differs between two commits; `status` is git's letter: A M D R T."""

    status: str
    path: str
    old_path: str
    mode: int
    old_mode: int

    @property
    def is_symlink(self) -> bool:
        """Whether the path is a symlink afterwards."""
        return self.mode == SYMLINK


def read_commits(own: OwnRepository, revisions: Sequence[str]) -> list[Commit]:
    """The commits that some have in their history and others have not, parents before children.

    Args:
        own: where they are.
        revisions: full ids, and full ids after a `^` of those whose history is left out.

    Raises:
        GitError: one of them is no commit.
    """
    return _read(own, "--reverse", "--topo-order", "--stdin", input="".join(f"{one}\n" for one in revisions))


def read_commit(own: OwnRepository, commit: str) -> Commit:
    """One commit.

    Args:
        own: where it is.
        commit: its full id.

    Raises:
        GitError: there is no such commit.
    """
    return _read(own, "--no-walk", commit, "--")[0]


def _read(own: OwnRepository, *which: str, input: str = "") -> list[Commit]:  # noqa: A002
    command = ("rev-list", "--no-commit-header", "--encoding=UTF-8", f"--format={_FORMAT}", *which)
    words = [os.fsdecode(word) for word in own.run(*command, input=input.encode()).out.split(b"\0")][:-1]
    return [_commit(words[at : at + _FIELDS]) for at in range(0, len(words), _FIELDS)]


def _commit(words: Sequence[str]) -> Commit:
    sha, tree, parents, time, committed, subject, body, trailers = words
    pairs = [pair.partition("\x1f") for pair in trailers.split("\x1e") if "\x1f" in pair]
    return Commit(
        sha=sha.lstrip("\n"),
        tree=tree,
        parents=tuple(parents.split()),
        time=int(time),
        committed=int(committed),
        subject=subject,
        body=body.strip("\n"),
        trailers=tuple((key, value.strip()) for key, _, value in pairs),
    )


def tree_of(own: OwnRepository, commit: str) -> str:
    """The id of a commit's tree: two commits with one tree are one candidate.

    Args:
        own: where the commit is.
        commit: its full id.
    """
    return own.run("rev-parse", "--verify", f"{commit}^{{tree}}").text


def changed_paths(own: OwnRepository, old: str, new: str) -> list[Change]:
    """What differs between two commits, renames found as git finds them.

    Args:
        own: where they are.
        old: the full id of the commit before.
        new: the full id of the commit after.
    """
    words = iter(own.run("diff-tree", "-r", "-z", "-M", "--raw", old, new).fields)
    changes = []
    for word in words:
        old_mode, mode, _, _, status = word.removeprefix(":").split(" ")
        old_path = next(words)
        path = next(words) if status[0] in "RC" else old_path
        changes.append(
            Change(status=status[0], path=path, old_path=old_path, mode=int(mode, 8), old_mode=int(old_mode, 8))
        )
    return changes
