"""How a path of `link` comes into a worktree: as a view that cannot write back, or as a link to the person's own.

A view is a copy-on-write clone where the file system has that, else a copy. It is never a hard link: that is the
same file. What is too big to be copied, and a virtual environment, whose programs name the folder where it was
made, is a symlink to the person's own, which an agent can write to; `herdr.repo.prints` notices when one does.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from herdr.errors import HerdrError
from herdr.repo.files import delete_entry

#: Bytes; more than this is not copied into every worktree and every scoring.
COPY_LIMIT = 256 * 1024 * 1024
#: Bytes of a copy that a person is told of.
WORTH_SAYING = 32 * 1024 * 1024
#: What begins the name of a view that is being made.
UNFINISHED = ".herdr-view-"
#: The ioctl that makes one file share the blocks of another until one of them is written to.
FICLONE = 0x40049409
#: Bytes that are copied at a time.
CHUNK = 1024 * 1024

#: `shared` is meant to be written to; `clone` and `copy` are views; `borrowed` is the person's own, unprotected.
Form = Literal["shared", "clone", "copy", "borrowed"]


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What there is below a path.

    Attributes:
        size: bytes, as far as it was looked at.
        whole: whether all of it was looked at; it is left off where more than the limit was found.
        environment: the virtual environment in it, relative to it; `.` for itself.
        outside: where symlinks in it lead that would lead out of a worktree, too: to somebody's own files.
    """

    size: int
    whole: bool
    environment: str | None
    outside: tuple[Path, ...] = ()


class View(msgspec.Struct, frozen=True, kw_only=True):
    """How a path is to come into a worktree.

    Attributes:
        path: relative to the checkout.
        source: the person's own, symlinks resolved.
        root: the checkout, symlinks resolved.
        form: how.
        survey: what there is; None of what is shared, which is not looked at.
    """

    path: str
    source: Path
    root: Path
    form: Form
    survey: Survey | None = None


def view_of(path: str, source: Path, folder: Path, *, write: bool) -> View:
    """Choose how a path comes into the worktrees of a folder: the one place where that is decided.

    Behind a wall this is where a read-only bind would be chosen, before all others.

    Args:
        path: the path, relative to the checkout.
        source: the same in the checkout.
        folder: a folder on the file system that the worktrees are on.
        write: whether it is meant to be shared and written to.
    """
    real = Path(os.path.realpath(source))
    root = Path(os.path.realpath(source.parents[len(Path(path).parts) - 1]))
    if write:
        return View(path=path, source=real, root=root, form="shared")
    clones = can_clone(real, folder)
    found = survey(real, root, None if clones else COPY_LIMIT)
    if found.environment is not None or not (clones or found.whole):
        return View(path=path, source=real, root=root, form="borrowed", survey=found)
    return View(path=path, source=real, root=root, form="clone" if clones else "copy", survey=found)


def survey(source: Path, root: Path, limit: int | None) -> Survey:
    """Look through a file or folder.

    Args:
        source: no symlink itself.
        root: the checkout, symlinks resolved.
        limit: leave off where there are more bytes than this; None: never.

    Raises:
        HerdrError: a part of it cannot be read.
    """
    size, environment, outside = 0, None, list[Path]()
    for entry in walk(source):
        if entry.is_symlink():
            outside += filter(None, [_destination(Path(entry.path), source, root)[1]])
        elif entry.is_file(follow_symlinks=False):
            size += entry.stat(follow_symlinks=False).st_size
        if environment is None and entry.name in ("pyvenv.cfg", "conda-meta"):
            environment = os.path.relpath(Path(entry.path).parent, source)
        if limit is not None and size > limit:
            return Survey(size=size, whole=False, environment=environment, outside=tuple(outside))
    return Survey(size=size, whole=True, environment=environment, outside=tuple(outside))


class Single:
    """A file that stands by itself, as `os.scandir` would show it."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = str(path), path.name

    def is_symlink(self) -> bool:
        """Whether it is a symlink."""
        return Path(self.path).is_symlink()

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.stat(follow_symlinks=follow_symlinks).st_mode)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """What the system says of it."""
        return Path(self.path).stat(follow_symlinks=follow_symlinks)


def walk(source: Path) -> Iterator[os.DirEntry[str] | Single]:
    """Everything below a folder, itself left out; a file is only itself.

    Args:
        source: a file or folder, symlinks in it are not followed.

    Raises:
        HerdrError: a folder cannot be read.
    """
    if not source.is_dir():
        yield Single(source)
        return
    folders = [str(source)]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            raise HerdrError(
                f"{error.filename} cannot be read: {error.strerror}",
                fix="make it readable, or take it out of `link`",
            ) from error
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)


def can_clone(source: Path, folder: Path) -> bool:
    """Whether files below `source` can be cloned into `folder`, by trying it with one of them.

    Args:
        source: a file or folder.
        folder: where the clones are to be.
    """
    first = next(
        (one.path for one in walk(source) if one.is_file(follow_symlinks=False) and one.stat().st_size), None
    )
    if first is None:
        return False
    try:
        with Path(first).open("rb") as original, tempfile.TemporaryFile(dir=folder) as clone:
            return _clone(original.fileno(), clone.fileno())
    except OSError:
        return False


def make_view(view: View, target: Path) -> None:
    """Make a clone or copy: whole, or not at all.

    Args:
        view: what of.
        target: where; nothing is there, and its parent is.

    Raises:
        HerdrError: a part of it cannot be read, or there is no room.
    """
    unfinished = Path(tempfile.mkdtemp(dir=target.parent, prefix=UNFINISHED))
    try:
        inner = unfinished / target.name
        if view.source.is_dir():
            _copy_folder(view.source, inner, view)
        else:
            _copy_file(view.source, inner)
        inner.rename(target)
    except OSError as error:
        raise HerdrError(
            f"{view.path} could not be copied into {target.parent}: {error.strerror}: {error.filename}",
            fix="make it readable, free some room, or name it as { path = …, write = true } in `link`",
        ) from error
    finally:
        delete_entry(unfinished)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed herdr left of views that it was making.

    Args:
        folder: the folder in which they were made.
    """
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(UNFINISHED):
                delete_entry(path)


def _copy_folder(source: Path, target: Path, view: View) -> None:
    target.mkdir()
    with os.scandir(source) as entries:
        for entry in entries:
            path = target / entry.name
            if entry.is_symlink():
                path.symlink_to(_destination(Path(entry.path), view.source, view.root)[0])
            elif entry.is_dir(follow_symlinks=False):
                _copy_folder(Path(entry.path), path, view)
            elif entry.is_file(follow_symlinks=False):
                _copy_file(Path(entry.path), path)
            # A socket, a pipe or a device is no data.
    # Last: nothing can be made in a folder that may not be written to.
    shutil.copystat(source, target)


def _destination(link: Path, top: Path, root: Path) -> tuple[str, Path | None]:
    """What a symlink says in a copy of `top`, and what it leads to where that is outside of the worktree.

    One that stays inside leads into the copy, never back into the person's own. A relative one that leads to
    another part of the checkout leads to the same part of the worktree.
    """
    text = link.readlink()
    leads = Path(os.path.realpath(link))
    if leads.is_relative_to(top):
        inner = os.path.relpath(leads, os.path.realpath(link.parent))
        return (inner if text.is_absolute() else str(text)), None
    if not text.is_absolute() and leads.is_relative_to(root) and top.is_relative_to(root):
        return str(text), None
    return str(leads), leads


def _copy_file(source: Path, target: Path) -> None:
    mode = stat.S_IMODE(source.stat().st_mode) & 0o777
    with source.open("rb") as original, target.open("xb") as copy:
        if not _clone(original.fileno(), copy.fileno()):
            shutil.copyfileobj(original, copy, CHUNK)
        os.fchmod(copy.fileno(), mode)
    found = source.stat()
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def _clone(source: int, target: int) -> bool:
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError:
        return False
    return True
