"""The home: its permissions, its database, its disk, its tmux sockets, its daemon."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from herdr.cli.checks import Results, always, error, ok, warning
from herdr.contract.facts import DoctorCheck, DoctorResult
from herdr.daemon.lock import daemon_pid, stalled
from herdr.home import DEFAULT_SOCKET, Home, disk_error
from herdr.printing.values import size_of
from herdr.store.connection import open_store

#: Bytes of free space: below the first it is getting tight, below the second nothing can be relied on.
LITTLE, NOTHING = 2_000_000_000, 200_000_000
MOVED = "move it back, or run `herdr init` where it is now"


def checks(home: Home, environ: Mapping[str, str]) -> list[DoctorCheck]:
    """The checks of one home.

    Args:
        home: the home.
        environ: the variables of the shell.
    """
    return [
        always("home", partial(permissions, home)),
        always("other files", partial(foreign, home)),
        always("database", partial(database, home)),
        always("projects", partial(projects, home)),
        DoctorCheck(name="disk", run=partial(disk, home)),
        always("tmux sockets", partial(sockets, home, environ)),
        always("daemon", partial(daemon, home)),
    ]


def permissions(home: Home) -> Results:
    """Whether the home is a folder that its owner alone can use."""
    try:
        found = home.root.stat()
        if not stat.S_ISDIR(found.st_mode):
            return error(f"{home.root} is not a folder", "move it away, or set PILOOP_HOME to another folder")
    except FileNotFoundError:
        return ok(f"{home.root} (not there yet: `herdr init` makes it)")
    except OSError as problem:
        raise disk_error(problem, home.root) from problem
    if found.st_uid != os.geteuid():
        return error(f"{home.root} belongs to another user", "set PILOOP_HOME to a folder of your own")
    if not os.access(home.root, os.R_OK | os.W_OK | os.X_OK):
        return error(f"{home.root} cannot be written", f"chmod 700 {home.root}, or set PILOOP_HOME")
    if stat.S_IMODE(found.st_mode) != 0o700:
        return warning(f"others can look into {home.root}", f"chmod 700 {home.root}")
    return ok(str(home.root))


def foreign(home: Home) -> Results:
    """What another tool keeps in the home."""
    names = [path.name for path in home.foreign_files()] if home.root.is_dir() else []
    if not names:
        return ok("none in the home")
    shown = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
    return ok(f"another tool keeps {shown} in {home.root}; herdr leaves it alone")


def database(home: Home) -> Results:
    """Whether the database can be read, and is whole."""
    if not home.root.is_dir() or not home.database.exists():
        return ok("none yet: `herdr init` makes it")
    store = open_store(home.database, mode="read", actor="human")
    try:
        said = store.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        store.close()
    if said != "ok":
        return error(f"{home.database} is damaged: {said}", f"put back a copy from {home.backups}")
    return ok(f"{home.database}, {size_of(home.database.stat().st_size)}")


def projects(home: Home) -> Results:
    """Whether every registered repo is where it was."""
    if not home.root.is_dir() or not home.database.exists():
        return ok("none is registered")
    store = open_store(home.database, mode="read", actor="human")
    try:
        found = store.execute("SELECT name, path FROM projects ORDER BY name").fetchall()
    finally:
        store.close()
    gone = [
        DoctorResult(status="error", message=f"the repo of {name} is not at {path} any more", fix=MOVED)
        for name, path in found
        if not Path(path, ".git").exists()
    ]
    return gone or ok(", ".join(name for name, _ in found) or "none is registered")


def disk(home: Home, root: Path | None) -> Results:
    """How much room there is for the home and for worktrees.

    Args:
        home: the home.
        root: the repo, if there is one.
    """
    worst, where = min(
        (shutil.disk_usage(place).free, place) for place in {_existing(home.root), root or Path("/")}
    )
    said = f"{size_of(worst)} free at {where}"
    if worst < NOTHING:
        return error(f"only {said}", "free some space: `herdr clean`")
    if worst < LITTLE:
        return warning(f"only {said}", "free some space: `herdr clean`")
    return ok(said)


def _existing(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())


def sockets(home: Home, environ: Mapping[str, str]) -> Results:
    """Whether the home's tmux server answers on its socket; what other homes left is told, and is no fault.

    Args:
        home: the home.
        environ: the variables of the shell.
    """
    # The folder is tmux's own default, not a temporary file of ours.
    folder = Path(environ.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}"  # noqa: S108
    names = (DEFAULT_SOCKET, f"{DEFAULT_SOCKET}-*")
    found = [path for name in names for path in sorted(folder.glob(name)) if path.is_socket()]
    dead = [path for path in found if not _answers(path)]
    ours = folder / home.socket_name
    if ours in dead:
        return warning(f"no server answers on {ours}", f"rm {ours}")
    if dead:
        others = "a tmux server" if len(dead) == 1 else f"{len(dead)} tmux servers"
        return ok(f"this home's is not stale; {others} of other homes left theirs in {folder}")
    return ok("none is stale")


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def daemon(home: Home) -> Results:
    """Whether the daemon runs, and what failed in it lately."""
    pid = daemon_pid(home)
    if not home.root.is_dir() or not home.database.exists():
        return ok("not running")
    store = open_store(home.database, mode="read", actor="human")
    try:
        count, last = store.execute(
            "SELECT count(*), max(json_extract(payload, '$.what') || ': ' || json_extract(payload, '$.error'))"
            " FROM events WHERE kind = 'daemon.fault' AND at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 hour')"
        ).fetchone()
    finally:
        store.close()
    if (silent := stalled(home)) is not None:
        return error(
            f"the daemon (pid {pid}) has not worked any more for {silent / 60:.0f} minutes, and starts nothing",
            f"herdr down && herdr up -d    (its log: {home.log})",
        )
    if count:
        return warning(
            f"{count} failures in the last hour, such as {last}", f"herdr logs tells more, and {home.log} all"
        )
    return ok(f"runs (pid {pid})" if pid else "not running: herdr up")
