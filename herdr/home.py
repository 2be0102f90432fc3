"""Where things live on disk: the home of the daemon, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import secrets
import stat
import zlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from herdr.errors import HerdrError

DEFAULT_SOCKET = "herdr"
#: What herdr keeps in its home; SQLite and log rotation add endings to these names.
OURS = (
    "agents", "backups", "bin", "evaluations", "forge", "herdr.db", "herdr.lock", "herdr.log", "id", "profiles",
    "repositories", "tmux", "workspaces",
)  # fmt: skip
EXPLAINED = {
    errno.ENOSPC: ("the disk is full", "free some space, or set PILOOP_HOME to a folder on another disk"),
    errno.EDQUOT: ("the disk quota is used up", "free some space, or set PILOOP_HOME to another disk"),
    errno.EROFS: ("the file system is read-only", "set PILOOP_HOME to a folder that can be written"),
    errno.EACCES: ("permission denied", "make it writable for you, or set PILOOP_HOME to another folder"),
    errno.EPERM: ("permission denied", "make it writable for you, or set PILOOP_HOME to another folder"),
    errno.ENOTDIR: ("a part of the path is not a folder", "move that file away, or set PILOOP_HOME"),
    errno.EEXIST: ("it exists and is not a folder", "move it away, or set PILOOP_HOME to another folder"),
}


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """The folder of one daemon: `$PILOOP_HOME`, else `~/.piloop`.

    Args:
        root: the folder itself, absolute.
        socket_name: what `tmux -L` is given, so that two homes never share a tmux server.
    """

    root: Path
    socket_name: str

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Home:
        """The home that this environment names; touches nothing."""
        user = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
        named = environ.get("PILOOP_HOME")
        root = Path(named).expanduser().absolute() if named else user / ".piloop"
        if root.resolve() == _default_root():
            return cls(root=root, socket_name=DEFAULT_SOCKET)
        digest = zlib.crc32(os.fsencode(root.resolve()))
        return cls(root=root, socket_name=f"{DEFAULT_SOCKET}-{digest:08x}")

    @property
    def database(self) -> Path:
        """The SQLite database."""
        return self.root / "herdr.db"

    @property
    def lock(self) -> Path:
        """Held by the running daemon."""
        return self.root / "herdr.lock"

    @property
    def log(self) -> Path:
        """The daemon's log."""
        return self.root / "herdr.log"

    @property
    def backups(self) -> Path:
        """Copies of the database from before each migration."""
        return self.root / "backups"

    @property
    def tmux_conf(self) -> Path:
        """The configuration of our tmux servers; each has its own beside it, by its socket's name."""
        return self.root / "tmux.conf"

    def agent_dir(self, agent_id: int) -> Path:
        """One agent's launch file, pid, exit status and last screen."""
        return self.root / "agents" / str(agent_id)

    def evaluation_dir(self, evaluation_id: int) -> Path:
        """One scoring's worktree and output."""
        return self.root / "evaluations" / str(evaluation_id)

    @property
    def id(self) -> str:
        """Eight hex digits that tell this home from any other; made once, and gone with the home.

        Raises:
            HerdrError: the home cannot be read or written.
        """
        path = self.root / "id"
        try:
            if not path.exists():
                # Two processes may come here at once: the first one's word holds.
                fresh = self.root / f".id-{os.getpid()}"
                fresh.write_text(f"{secrets.token_hex(4)}\n")
                with contextlib.suppress(FileExistsError):
                    os.link(fresh, path)
                fresh.unlink()
            return path.read_text().strip()
        except OSError as error:
            raise disk_error(error, path) from error

    def repositories(self, repo: Path) -> Path:
        """Where herdr keeps its own repository for a person's repo, and those of its runs.

        Args:
            repo: the main checkout.
        """
        where = repo.resolve()
        return self.root / "repositories" / f"{where.name}-{zlib.crc32(os.fsencode(where)):08x}"

    @property
    def bin(self) -> Path:
        """First on every agent's PATH: the `piloop` of this installation."""
        return self.root / "bin"

    def profile_dir(self, project: str, harness: str) -> Path:
        """What a harness keeps between the agents of a project: its own settings, never the user's.

        Args:
            project: the project's name.
            harness: the harness's name.
        """
        return self.root / "profiles" / project / harness

    def workspace(self, project: str) -> Path:
        """The folder that all runs of a project share, by the project's name."""
        return self.root / "workspaces" / project

    def ensure(self) -> Home:
        """Make the folder, private to its owner, and return the home.

        Raises:
            HerdrError: it cannot be made or written, is not a folder, or belongs to somebody else.
        """
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.root.stat()
            if found.st_uid != os.geteuid():
                raise HerdrError(
                    f"the home {self.root} belongs to another user (uid {found.st_uid})",
                    fix="set PILOOP_HOME to a folder of your own",
                )
            if stat.S_IMODE(found.st_mode) != 0o700:
                self.root.chmod(0o700)
            if not os.access(self.root, os.W_OK | os.X_OK):
                read_only = os.statvfs(self.root).f_flag & os.ST_RDONLY
                raise OSError(errno.EROFS if read_only else errno.EACCES, "not writable")
        except OSError as error:
            raise disk_error(error, self.root) from error
        return self

    def foreign_files(self) -> list[Path]:
        """What another tool left in the home, sorted; herdr never touches it.

        Raises:
            HerdrError: the home exists and cannot be listed.
        """
        try:
            names = sorted(self.root.iterdir()) if self.root.exists() else []
        except OSError as error:
            raise disk_error(error, self.root) from error
        return [path for path in names if not is_ours(path.name)]


def _default_root() -> Path | None:
    """The user's own home, which alone has the plain socket name: HOME may vary, the sockets' folder does not."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir, ".piloop").resolve()
    except KeyError:
        return None


def is_ours(name: str) -> bool:
    """Whether herdr itself keeps a file or folder of this name in its home."""
    return any(name == ours or (name.startswith(ours) and name[len(ours)] in "-.") for ours in OURS)


def working_folder() -> Path:
    """The folder that the command was typed in.

    Raises:
        HerdrError: it was deleted.
    """
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise HerdrError("the folder that you are in was deleted", fix="cd to another one") from error


def disk_error(error: OSError, path: Path) -> HerdrError:
    """An operating system's error about a path, in words and with what to do.

    Args:
        error: as it was raised.
        path: what herdr wanted to make or write.
    """
    unknown = (error.strerror or str(error), "set PILOOP_HOME to a folder that can be written")
    problem, fix = EXPLAINED.get(error.errno or 0, unknown)
    return HerdrError(f"cannot write {path}: {problem}", fix=fix)


def atomic_write(path: Path, data: bytes | str, mode: int = 0o600) -> None:
    """Write a file so that a reader, or a crash at any moment, finds the old content or the new, never a part.

    Args:
        path: the file; its folder must exist.
        data: bytes, or text to be written as UTF-8.
        mode: permission bits, whatever the umask.

    Raises:
        HerdrError: full disk, no permission and the like; the old file is then untouched.
    """
    content = data.encode() if isinstance(data, str) else data
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:  # noqa: PTH123
            os.fchmod(file.fileno(), mode)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise disk_error(error, path) from error
    finally:
        draft.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
