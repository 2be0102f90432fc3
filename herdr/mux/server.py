"""Our own tmux server: started clean, found again, brought back, and its session for each project."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from herdr.errors import HerdrError
from herdr.mux.conf import conf_text
from herdr.mux.environment import clean_environment
from herdr.mux.errors import TmuxError
from herdr.mux.quote import escape_format

if TYPE_CHECKING:
    import libtmux

#: `refresh-client -B`, `-f no-output` and `attach -f` came with it.
OLDEST_TMUX = (3, 2)
HOME_WINDOW = "home"
PROJECT_OPTION = "@herdr_project"
HOME_OPTION = "@herdr_home"
INSTALL = "brew install tmux" if sys.platform == "darwin" else "sudo apt install tmux"
#: Seconds for tmux to start, to end, or to make its socket anew.
PATIENCE = 5.0


class TmuxMissingError(HerdrError):
    """There is no tmux to run; a server may live all the same."""

    def __init__(self) -> None:
        super().__init__("tmux is not installed, or not on PATH", fix=INSTALL)


class SessionRef(msgspec.Struct, frozen=True, kw_only=True):
    """The session of a project: its `$id`, by which alone it is addressed, and its name for people."""

    id: str
    name: str


class ServerProcess(msgspec.Struct, frozen=True, kw_only=True):
    """The server's process; `started` (seconds since the epoch) tells it from a later one with the same pid."""

    pid: int
    started: float


def check_tmux(environ: Mapping[str, str]) -> str:
    """Say which tmux this machine has.

    Raises:
        HerdrError: there is none, or it is older than 3.2.
    """
    binary = shutil.which("tmux", path=environ.get("PATH"))
    if binary is None:
        raise TmuxMissingError
    done = subprocess.run([binary, "-V"], capture_output=True, text=True, check=False, env=dict(environ))
    version = done.stdout.strip().removeprefix("tmux ")
    number = re.search(r"(\d+)\.(\d+)", version)
    # A build from tmux's master has no number; it is newer than what we need.
    if number is not None and (int(number[1]), int(number[2])) < OLDEST_TMUX:
        raise HerdrError(f"tmux {version} ({binary}) is too old: herdr needs 3.2 or newer", fix=INSTALL)
    return version


class TmuxServer:
    """The tmux server of one home, on a socket of its own.

    All methods block for some milliseconds: from an event loop, call them in a worker thread.

    Attributes:
        argv: tmux with the options that name this server.
        environ: the clean environment that its clients are run with.
    """

    def __init__(
        self, socket_name: str, conf: Path, environ: Mapping[str, str], *, history: int = 50_000
    ) -> None:
        """Name the server; nothing is started.

        Args:
            socket_name: what `tmux -L` is given.
            conf: our configuration is written beside it, under the socket's name, and the server's pid too: the
                servers of one home must not overwrite each other's.
            environ: where PATH, HOME, TMUX_TMPDIR and the locale are taken from.
            history: lines that each pane keeps above its screen.

        Raises:
            HerdrError: the socket is the one that people's own tmux uses.
        """
        if socket_name == "default":
            raise HerdrError(
                "the tmux socket `default` is your own tmux's", fix="set [tmux] socket to another name"
            )
        self.socket_name = socket_name
        self.conf = conf.with_name(f"{conf.stem}-{socket_name}{conf.suffix}")
        self.environ = clean_environment(environ)
        self.argv = ("tmux", "-u", "-L", socket_name, "-f", str(self.conf))
        self._history = history

    @property
    def socket_path(self) -> Path:
        """Where tmux puts the socket of this name."""
        # The folder is tmux's own default, not a temporary file of ours.
        parent = Path(self.environ.get("TMUX_TMPDIR") or "/tmp")  # noqa: S108
        return parent.resolve() / f"tmux-{os.getuid()}" / self.socket_name

    @property
    def pid_file(self) -> Path:
        """Where the server's process is remembered, to bring it back when its socket was deleted."""
        return self.conf.with_suffix(".pid")

    def alive(self) -> bool:
        """Whether a server answers on the socket; costs no process."""
        with socket.socket(socket.AF_UNIX) as probe:
            try:
                probe.connect(str(self.socket_path))
            except OSError:
                return False
        return True

    def ensure(self) -> None:
        """Start the server with our configuration, unless it runs; one whose socket was deleted comes back.

        Raises:
            HerdrError: tmux is missing, too old, or does not start.
        """
        if self.alive() or self._bring_back():
            return
        check_tmux(self.environ)
        self.conf.parent.mkdir(parents=True, exist_ok=True)
        self.conf.write_text(conf_text(self._history), encoding="utf-8")
        done = subprocess.run(
            [*self.argv, "start-server"], capture_output=True, text=True, check=False, env=self.environ, cwd="/"
        )
        if done.returncode or done.stderr or not _until(self.alive):
            raise TmuxError(
                f"tmux does not start: {done.stderr.strip() or 'it gives no reason'}",
                fix=f"look at {self.socket_path.parent} (mode 0700, a path under 100 bytes)",
            )
        self._remember()

    def ensure_session(self, project: str, cwd: Path, width: int, height: int) -> SessionRef:
        """Find the project's session, or create it with a first window `home`: a shell in `cwd` for the person.

        The session is told by its option `@herdr_project`, never by its name. Needs a running server.

        Args:
            project: the project's name.
            cwd: where the shell in `home` starts.
            width: columns of a new session.
            height: rows of a new session.

        Raises:
            TmuxError: tmux refused.
        """
        # In ASCII without `;`, so that neither a locale nor tmux's command parser can change it.
        key = urllib.parse.quote(project, safe="")
        names = set()
        for line in self.command(
            "list-sessions", "-F", f"#{{session_id}} #{{session_name}} #{{{PROJECT_OPTION}}}"
        ):
            session, name, owner = line.split(" ", 2)
            names.add(name)
            if owner == key:
                self._revive_home(session)
                return SessionRef(id=session, name=name)
        name = _free_name(project, names)
        size = ("-x", str(width), "-y", str(height))
        place = ("-n", HOME_WINDOW, "-c", escape_format(str(cwd)))
        (session,) = self.command("new-session", "-d", "-P", "-F", "#{session_id}", "-s", name, *size, *place)
        self.command("set-option", "-w", "-t", f"{session}:", HOME_OPTION, "1")
        self.command("set-option", "-t", session, PROJECT_OPTION, key)
        return SessionRef(id=session, name=name)

    def command(self, *words: str) -> list[str]:
        """Run one command as a process of its own, for set-up; hot calls go through `ControlClient`.

        Raises:
            TmuxError: tmux refused it; it says so on stderr only, often with a status of 0.
            TmuxMissingError: there is no tmux.
        """
        from libtmux.exc import TmuxCommandNotFound

        escaped = [f"{word[:-1]}\\;" if word.endswith(";") else word for word in words]
        try:
            done = self.model().cmd(*escaped)
        except TmuxCommandNotFound as error:
            raise TmuxMissingError from error
        if done.returncode or done.stderr:
            raise TmuxError(f"tmux {words[0]}: {' '.join(done.stderr) or f'status {done.returncode}'}")
        return list(done.stdout)

    def model(self) -> libtmux.Server:
        """Give libtmux's view of the server, for set-up and for looking at it; its methods fail silently."""
        import libtmux

        return libtmux.Server(socket_path=self.socket_path, config_file=str(self.conf))

    def kill(self) -> None:
        """End the server with everything in it, and wait until it has ended."""
        if self.alive() or self._bring_back():
            with suppress(TmuxError):
                self.command("kill-server")
            _until(lambda: not self.alive() and self._known_process() is None)
        self.pid_file.unlink(missing_ok=True)

    def _remember(self) -> None:
        import psutil

        pid = int(self.command("display-message", "-p", "#{pid}")[0])
        process = ServerProcess(pid=pid, started=psutil.Process(pid).create_time())
        self.pid_file.write_bytes(msgspec.json.encode(process))

    def _known_process(self) -> int | None:
        """The remembered server's pid, if that very process still runs."""
        import psutil

        try:
            known = msgspec.json.decode(self.pid_file.read_bytes(), type=ServerProcess)
            process = psutil.Process(known.pid)
            same = abs(process.create_time() - known.started) < 1 and process.status() != psutil.STATUS_ZOMBIE
        except (OSError, msgspec.MsgspecError, psutil.Error):
            return None
        return known.pid if same else None

    def _bring_back(self) -> bool:
        """Have a server whose socket was deleted (as systemd-tmpfiles does after ten days) make it anew."""
        pid = self._known_process()
        if pid is None:
            return False
        self.socket_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGUSR1)
        return _until(self.alive)

    def _revive_home(self, session: str) -> None:
        """Start the shell of `home` again when the person has left it."""
        fields = f"#{{pane_dead}}#{{{HOME_OPTION}}} #{{pane_id}}"
        for line in self.command("list-panes", "-s", "-t", session, "-F", fields):
            dead_home, pane = line.split(" ")
            if dead_home == "11":
                self.command("respawn-pane", "-t", pane)


def _free_name(project: str, taken: set[str]) -> str:
    """A name for people; tmux 3.7 refuses `.` and `:` in it."""
    slug = re.sub(r"[^A-Za-z0-9_]+", "-", project).strip("-")[:40] or "project"
    name, number = slug, 1
    while name in taken:
        number += 1
        name = f"{slug}-{number}"
    return name


def _until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
