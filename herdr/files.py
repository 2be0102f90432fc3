"""Opens what somebody else can have changed: through no link, without waiting, and never more than a limit.

All is named relative to the handle of a folder, so that nobody can put another folder in its place meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from herdr.errors import HerdrError

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPlainError(HerdrError):
    """Something else is where a plain file or a folder should be, or it cannot be read, or it is too large."""


class Folder:
    """A folder by its handle; what is asked for in it are single names, never paths.

    Args:
        descriptor: the handle, which is closed with this.
        path: how it is called in errors.
    """

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor = descriptor
        self.path = path

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Open a folder that is no link itself; what leads to it is trusted.

        Raises:
            FileNotFoundError: there is none.
            NotPlainError: it is something else.
        """
        try:
            return cls(os.open(path, _FOLDER), path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _wrong(error, path, "a folder") from error

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the handle go."""
        os.close(self.descriptor)

    def inner(self, name: str, *, make: bool = False) -> Folder:
        """Open a folder in this one.

        Args:
            name: its name.
            make: make it, for the owner alone, when nothing is there.

        Raises:
            FileNotFoundError: there is none.
            NotPlainError: it is something else.
        """
        path = self.path / _single(name)
        try:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=self.descriptor)
            return Folder(os.open(name, _FOLDER, dir_fd=self.descriptor), path)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _wrong(error, path, "a folder") from error

    def open_file(self, name: str) -> int:
        """A descriptor to read a plain file from, of one name only; who asks closes it.

        Args:
            name: its name.

        Raises:
            FileNotFoundError: there is none.
            NotPlainError: it is something else, or cannot be read.
        """
        path = self.path / _single(name)
        try:
            descriptor = os.open(name, _READ, dir_fd=self.descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise _wrong(error, path, "a plain file") from error
        found = os.fstat(descriptor)
        if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1:
            return descriptor
        os.close(descriptor)
        raise NotPlainError(f"{path} is no plain file, or has another name elsewhere")

    def read(self, name: str, limit: int) -> bytes:
        """The content of a plain file.

        Args:
            name: its name.
            limit: how many bytes it may hold.

        Raises:
            FileNotFoundError: there is none.
            NotPlainError: it is something else, cannot be read, or holds more.
        """
        with os.fdopen(self.open_file(name), "rb") as file:
            try:
                content = file.read(limit + 1)
            except OSError as error:
                raise _wrong(error, self.path / name, "a plain file") from error
        if len(content) > limit:
            raise NotPlainError(f"{self.path / name} holds more than {limit} bytes")
        return content

    def replace(self, name: str, content: bytes, mode: int = 0o600) -> None:
        """Put a file here, as a whole, in place of a file or a link of that name.

        Args:
            name: its name.
            content: what it holds.
            mode: its permission bits.

        Raises:
            NotPlainError: a folder is in its place, or the folder cannot be written.
        """
        fresh = f".{_single(name)[:100]}.{secrets.token_hex(8)}"
        try:
            with os.fdopen(os.open(fresh, _FRESH, mode, dir_fd=self.descriptor), "wb") as file:
                file.write(content)
            try:
                os.replace(fresh, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
            except OSError:
                os.unlink(fresh, dir_fd=self.descriptor)
                raise
        except OSError as error:
            raise NotPlainError(f"cannot write {self.path / name}: {error.strerror}") from error

    def create(self, name: str) -> int:
        """A descriptor to write a new file, for the owner alone; who asks closes it.

        Args:
            name: its name; nothing may be there.

        Raises:
            NotPlainError: it cannot be made.
        """
        try:
            return os.open(_single(name), _FRESH, 0o600, dir_fd=self.descriptor)
        except OSError as error:
            raise NotPlainError(f"cannot make {self.path / name}: {error.strerror}") from error

    def remove(self, name: str) -> None:
        """Delete a file or a link; one that is not there is fine.

        Args:
            name: its name.

        Raises:
            NotPlainError: it is a folder, or cannot be deleted.
        """
        try:
            os.unlink(_single(name), dir_fd=self.descriptor)
        except FileNotFoundError:
            return
        except OSError as error:
            raise _wrong(error, self.path / name, "a file") from error

    def entries(self) -> Iterator[os.DirEntry[str]]:
        """What is in it, as the system lists it; asking an entry for its kind follows no link."""
        with os.scandir(self.descriptor) as found:
            yield from found


def open_below(folder: Folder, *names: str) -> Folder:
    """Open a folder some steps down, no step of which may be a link.

    Args:
        folder: where to begin; stays open.
        names: the steps.

    Raises:
        FileNotFoundError: there is none.
        NotPlainError: one of them is something else.
    """
    here = folder.inner(names[0])
    for name in names[1:]:
        with here:
            inner = here.inner(name)
        here = inner
    return here


def _single(name: str) -> str:
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise NotPlainError(f"{name!r} is no name of a file")
    return name


def _wrong(error: OSError, path: Path, wanted: str) -> NotPlainError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return NotPlainError(f"{path} is not {wanted} but a link, or something else")
    return NotPlainError(f"{path} is not {wanted}, or cannot be opened: {error.strerror}")
