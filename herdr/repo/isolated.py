"""A folder for an agent or a scoring: a worktree on a repository of its own, that borrows the person's objects.

Whatever is done there to refs, config, hooks, attributes, locks or objects stays there. The files of both are
written by herdr, so that no git of herdr's ever opens a repository which somebody else has written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from herdr.errors import HerdrError, RefusedError
from herdr.locking import open_lock, take_lock
from herdr.repo.files import delete_entry, read_file, write_file
from herdr.repo.own import Extras, OwnRepository, write_repository
from herdr.repo.submodules import init_submodules

#: Seconds; a checkout of 375,000 files takes 40 on an idle disk and several times that on a busy one.
CHECKOUT_TIMEOUT = 1800.0
#: The name of the worktree in its repository: there is only one.
ADMIN = "worktree"
#: Bytes of a file of excludes that are kept.
EXCLUDE_LIMIT = 16 * 1024 * 1024
#: Seconds to wait for whoever else makes or removes the very same folder.
PATIENCE = 60.0

#: What is wrong with a folder: it is not there; it is there and is not what herdr made.
Fault = Literal["gone", "foreign"]


class NotOursError(HerdrError):
    """A folder is no longer the worktree that herdr made; `fault` says in one word what it is."""

    def __init__(self, message: str, fault: Fault, *, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.fault = fault


class Isolated(msgspec.Struct, frozen=True, kw_only=True):
    """Where a worktree and its repository are, or are to be.

    Attributes:
        repository: the bare git folder, in the home.
        worktree: the folder with the files.
    """

    repository: Path
    worktree: Path

    @property
    def admin(self) -> Path:
        """The worktree's own part of the repository: its HEAD, index and reflog."""
        return self.repository / "worktrees" / ADMIN


def create(
    place: Isolated,
    own: OwnRepository,
    *,
    commit: str,
    branch: str | None,
    refs: Mapping[str, str] | None = None,
    hooks: Path | None = None,
    remotes: bool = False,
) -> list[str]:
    """Make the repository and check out a commit, submodules too.

    Args:
        place: where.
        own: the project's repository of herdr's own; its configuration is the one that the new repository gets.
        commit: the full id of the commit to start from; the person's repository has it.
        branch: the branch that HEAD is on; None for a detached HEAD.
        refs: further refs that the repository has from the start, with their commits.
        hooks: a folder of hooks that run there; none by default.
        remotes: whether it gets the person's remotes, to fetch from and to push to.

    Returns:
        What the worktree lacks, a sentence each.

    Raises:
        RefusedError: something is in the way.
        GitError: the commit cannot be checked out.
    """
    with _alone(place, own) as note:
        for path in (place.repository, place.worktree):
            if os.path.lexists(path):
                raise RefusedError(
                    f"{path} exists already", fix=f"look at what it is, then: mv {path} {path}.old"
                )
        _begin(note)
        _make_folders(place, own)
        try:
            _write_files(place, own, commit, branch, dict(refs or {}), Extras(hooks=hooks, remotes=remotes))
            warnings = _check_out(place, own, commit, note)
        except BaseException:
            _delete(place)
            raise
        finally:
            _end(note)
        return warnings


def exclude(place: Isolated, patterns: Sequence[str]) -> None:
    """Have git ignore these in the worktree.

    Args:
        place: a whole worktree.
        patterns: gitignore patterns; those that are there already stay once.
    """
    content = read_file(place.repository / "info/exclude", limit=EXCLUDE_LIMIT) or b""
    lines = content.splitlines()
    missing = [line for line in map(os.fsencode, patterns) if line not in lines]
    if missing:
        write_file(place.repository, "info/exclude", b"\n".join([*lines, *missing, b""]))


def check(place: Isolated) -> None:
    """Make sure, by looking at files alone, that the folder is still the worktree that herdr made.

    Args:
        place: where both should be.

    Raises:
        NotOursError: one of them is gone, or somebody has put something else in its place.
    """
    for path in (place.worktree, place.repository, place.admin.parent, place.admin):
        try:
            found = os.lstat(path)
        except FileNotFoundError as error:
            raise NotOursError(f"{path} is gone", "gone") from error
        if not stat.S_ISDIR(found.st_mode):
            raise NotOursError(f"{path} is no folder any more", "foreign", fix=f"look at it: ls -ld {path}")
    for path, wanted in _links(place).items():
        said = read_file(path)
        if said is None or said.strip() != os.fsencode(wanted):
            raise NotOursError(
                f"{place.worktree} is no longer the worktree that herdr made: {path} is gone or was changed",
                "foreign",
                fix=f"look at it; its commits are in {place.repository}",
            )


def remove(place: Isolated, own: OwnRepository) -> None:
    """Delete the worktree and its repository, as one; what is gone already is fine.

    Args:
        place: what to delete.
        own: the project's repository of herdr's own.

    Raises:
        NotOursError: the folder is not the worktree that herdr made, so it stays.
    """
    with _alone(place, own) as note:
        try:
            check(place)
        except NotOursError as error:
            if os.path.lexists(place.worktree):
                raise NotOursError(error.message, "foreign", fix=error.fix) from error
        _begin(note)
        _delete(place)
        _end(note)


def finish(place: Isolated, own: OwnRepository) -> None:
    """Delete what a killed herdr left half made or half removed, as its note says.

    Args:
        place: whose note is looked for.
        own: where the notes are.

    Raises:
        HerdrError: somebody else is making or removing it at this moment.
    """
    if _note(place, own).exists():
        with _alone(place, own):
            pass


def _make_folders(place: Isolated, own: OwnRepository) -> None:
    place.worktree.parent.mkdir(parents=True, exist_ok=True)
    if place.worktree.is_relative_to(own.root):
        # Keeps them out of the person's `git status` without a line in their repository.
        with contextlib.suppress(FileExistsError), (place.worktree.parent / ".gitignore").open("x") as file:
            file.write("*\n")
    place.repository.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        # Where somebody made one meanwhile, it is not ours to delete.
        place.worktree.mkdir()
    except FileExistsError as error:
        raise RefusedError(f"{place.worktree} exists already", fix=f"look at it: ls {place.worktree}") from error
    place.repository.mkdir(mode=0o700)


def _write_files(
    place: Isolated, own: OwnRepository, commit: str, branch: str | None, refs: dict[str, str], extras: Extras
) -> None:
    head = f"refs/heads/{branch}" if branch is not None else None
    if head is not None:
        # git cannot have a branch whose name is a folder of another's.
        refs = {name: sha for name, sha in refs.items() if not f"{head}/".startswith(f"{name}/")}
        refs[head] = commit
    snapshot = own.snapshot
    objects = own.common / "objects"
    write_repository(place.repository, objects, snapshot, head=head or "refs/heads/none", extras=extras)
    lines = "".join(f"{sha} {name}\n" for name, sha in sorted(refs.items()))
    (place.repository / "packed-refs").write_text(f"# pack-refs with: sorted \n{lines}")
    place.admin.mkdir(parents=True)
    (place.admin / "HEAD").write_text(f"ref: {head}\n" if head else f"{commit}\n")
    if snapshot.sparse:
        (place.admin / "info").mkdir()
        (place.admin / "info/sparse-checkout").write_bytes(snapshot.sparse)
    for path, content in _links(place).items():
        path.write_bytes(os.fsencode(content) + b"\n")


def _check_out(place: Isolated, own: OwnRepository, commit: str, note: int) -> list[str]:
    # Should herdr be killed, git still holds the note's lock, so nobody deletes what it goes on writing.
    own.run(
        *("read-tree", "-m", "-u", commit),
        work_tree=place.worktree,
        index=place.admin / "index",
        timeout=CHECKOUT_TIMEOUT,
        keep_open=[note],
    )
    return init_submodules(place.worktree, own, root=own.root, common=own.common, keep_open=[note])


def _note(place: Isolated, own: OwnRepository) -> Path:
    # By the place, not by its name alone: a folder that somebody else has made since is not ours to delete.
    name = hashlib.sha256(os.fsencode(place.worktree)).hexdigest()[:16]
    return own.path / "unfinished" / f"{place.repository.name}-{name}"


@contextlib.contextmanager
def _alone(place: Isolated, own: OwnRepository) -> Iterator[int]:
    """Nobody else makes or removes this place meanwhile; what a killed one left is deleted first.

    A note holds the lock, and says by not being empty that the place is not whole.
    """
    path = _note(place, own)
    path.parent.mkdir(exist_ok=True)
    note = _lock(path)
    try:
        if os.fstat(note).st_size:
            _delete(place)
            _end(note)
        yield note
    finally:
        if not os.fstat(note).st_size:
            path.unlink(missing_ok=True)
        os.close(note)


def _lock(path: Path) -> int:
    while True:
        note = open_lock(path)
        if not take_lock(note, PATIENCE):
            os.close(note)
            raise HerdrError(
                f"another process is making or removing the folder of {path.name}",
                fix=f"see who: fuser -v {path}",
            )
        # Whoever held it has deleted it: the lock of a deleted note keeps nobody out.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(note), path.stat()):
                return note
        os.close(note)


def _begin(note: int) -> None:
    os.pwrite(note, b"not whole\n", 0)


def _end(note: int) -> None:
    os.ftruncate(note, 0)


def _links(place: Isolated) -> dict[Path, str]:
    """The files that bind a worktree to its repository, and what each has to say."""
    return {
        place.worktree / ".git": f"gitdir: {place.admin}",
        place.admin / "gitdir": f"{place.worktree / '.git'}",
        place.admin / "commondir": "../..",
    }


def _delete(place: Isolated) -> None:
    delete_entry(place.worktree)
    delete_entry(place.repository)
