"""A folder for an agent, or for a scoring: a worktree on a repository of its own, that borrows the person's objects.

Whatever is done there to refs, config, hooks, attributes, locks or objects stays there. The files of both are written
by herdr, so that no git of herdr's ever opens a repository which somebody else has written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from herdr.errors import HerdrError, RefusedError
from herdr.repo.own import OwnRepository, write_repository
from herdr.repo.submodules import init_submodules

#: Seconds; a checkout of 375,000 files takes 40 on an idle disk and several times that on a busy one.
CHECKOUT_TIMEOUT = 1800.0
#: The name of the worktree in its repository: there is only one.
ADMIN = "worktree"
#: Bytes of a file of git's that is read whole; none of them is longer.
FILE_LIMIT = 64 * 1024

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
) -> list[str]:
    """Make the repository and check out a commit, submodules too.

    Args:
        place: where.
        own: the project's repository of herdr's own; its configuration is the one that the new repository gets.
        commit: the full id of the commit to start from; the person's repository has it.
        branch: the branch that HEAD is on; None for a detached HEAD.
        refs: further refs that the repository has from the start, with their commits.
        hooks: a folder of hooks that run there; none by default.

    Returns:
        What the worktree lacks, a sentence each.

    Raises:
        RefusedError: something is in the way.
        GitError: the commit cannot be checked out.
    """
    finish(place, own)
    for path in (place.repository, place.worktree):
        if os.path.lexists(path):
            raise RefusedError(f"{path} exists already", fix=f"look at what it is, then: mv {path} {path}.old")
    with _noted(place, own):
        _write_files(place, own, commit, branch, dict(refs or {}), hooks)
        own.run(
            *("read-tree", "-m", "-u", commit),
            work_tree=place.worktree,
            index=place.admin / "index",
            timeout=CHECKOUT_TIMEOUT,
        )
        return init_submodules(place.worktree, own, root=own.root, common=own.common)


def exclude(place: Isolated, patterns: Sequence[str]) -> None:
    """Have git ignore these in the worktree.

    Args:
        place: a whole worktree.
        patterns: gitignore patterns; those that are there already stay once.
    """
    path = place.repository / "info/exclude"
    lines = (read_file(path, limit=None) or b"").splitlines()
    missing = [line for line in map(os.fsencode, patterns) if line not in lines]
    if missing:
        fresh = place.repository / "info" / f".herdr-{os.getpid()}"
        fresh.write_bytes(b"\n".join([*lines, *missing, b""]))
        fresh.replace(path)


def check(place: Isolated) -> None:
    """Make sure, by looking at files alone, that the folder is still the worktree that herdr made.

    Args:
        place: where both should be.

    Raises:
        NotOursError: one of them is gone, or somebody has put something else in its place.
    """
    for path in (place.worktree, place.repository, place.admin):
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
    finish(place, own)
    try:
        check(place)
    except NotOursError as error:
        if os.path.lexists(place.worktree):
            raise NotOursError(error.message, "foreign", fix=error.fix) from error
    with _noted(place, own):
        _delete(place)


def finish(place: Isolated, own: OwnRepository) -> None:
    """Delete what a killed herdr left half made or half removed, as its note says.

    Args:
        place: whose note is looked for.
        own: where the notes are.
    """
    note = _note(place, own)
    if note.exists():
        _delete(place)
        note.unlink()


def read_file(path: Path, *, limit: int | None = FILE_LIMIT) -> bytes | None:
    """The content of one of git's files, read without following a link or waiting; None when it is none.

    Args:
        path: the file.
        limit: how many bytes of it are read; None for all.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read(-1 if limit is None else limit) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def delete_tree(path: Path) -> None:
    """Delete a folder whole, never following a symlink, read-only folders (Go's module cache) included.

    Args:
        path: the folder; a missing one is fine.
    """
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        return
    except PermissionError:
        path.chmod(0o700)
        for parent, folders, _ in os.walk(path):
            for folder in folders:
                if not Path(parent, folder).is_symlink():
                    Path(parent, folder).chmod(0o700)
        shutil.rmtree(path)


def _write_files(
    place: Isolated, own: OwnRepository, commit: str, branch: str | None, refs: dict[str, str], hooks: Path | None
) -> None:
    # The folder for the files first: it is refused where somebody made one meanwhile.
    place.worktree.parent.mkdir(parents=True, exist_ok=True)
    place.worktree.mkdir()
    place.repository.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    place.repository.mkdir(mode=0o700)
    head = f"refs/heads/{branch}" if branch is not None else None
    if head is not None:
        refs[head] = commit
    write_repository(
        place.repository, own.common / "objects", own.snapshot, head=head or "refs/heads/none", hooks=hooks
    )
    lines = "".join(f"{sha} {name}\n" for name, sha in sorted(refs.items()))
    (place.repository / "packed-refs").write_text(f"# pack-refs with: sorted \n{lines}")
    place.admin.mkdir(parents=True)
    (place.admin / "HEAD").write_text(f"ref: {head}\n" if head else f"{commit}\n")
    for path, content in _links(place).items():
        path.write_bytes(os.fsencode(content) + b"\n")


def _note(place: Isolated, own: OwnRepository) -> Path:
    # By the place, not by its name alone: a folder that somebody else has made since is not ours to delete.
    name = hashlib.sha256(os.fsencode(place.worktree)).hexdigest()[:16]
    return own.path / "unfinished" / f"{place.repository.name}-{name}"


@contextlib.contextmanager
def _noted(place: Isolated, own: OwnRepository) -> Iterator[None]:
    """While it is made or removed, a note says that neither is whole; a failure deletes both."""
    note = _note(place, own)
    note.parent.mkdir(exist_ok=True)
    note.touch()
    try:
        yield
    except BaseException:
        _delete(place)
        note.unlink(missing_ok=True)
        raise
    note.unlink(missing_ok=True)


def _links(place: Isolated) -> dict[Path, str]:
    """The files that bind a worktree to its repository, and what each has to say."""
    return {
        place.worktree / ".git": f"gitdir: {place.admin}",
        place.admin / "gitdir": f"{place.worktree / '.git'}",
        place.admin / "commondir": "../..",
    }


def _delete(place: Isolated) -> None:
    delete_tree(place.worktree)
    delete_tree(place.repository)
