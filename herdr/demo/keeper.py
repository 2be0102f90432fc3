"""Ends whatever a demo started: `python -m herdr.demo.keeper`, which the demo holds by a pipe.

The pipe closes when the demo ends, however it ends, so not even `kill -9` of it leaves a daemon behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from herdr.errors import HerdrError
from herdr.home import Home
from herdr.python import module_argv

START = b"start\n"
#: Seconds that the daemon gets to end its agents and itself; they normally take less than one.
PATIENCE = 20.0
#: Seconds between SIGTERM and SIGKILL for what is still there then.
GRACE = 2.0


class Keeper:
    """The demo's end of the pipe. Entering it starts the keeper, and leaving it waits until all has ended."""

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        """Start nothing yet.

        Args:
            environ: with the `PILOOP_HOME` whose daemon is kept.
            log: where the daemon writes what it cannot write into its own log.
        """
        self._environ = environ
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Keeper:
        with self._log.open("ab") as log:
            # A session of its own, because a Ctrl-C in the terminal is meant for the demo alone.
            self._process = subprocess.Popen(
                module_argv("herdr.demo.keeper"),
                stdin=subprocess.PIPE, stdout=log, stderr=log, env=self._environ, start_new_session=True,
            )  # fmt: skip
        return self

    def start_daemon(self) -> None:
        """Have the daemon started."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(START)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise HerdrError("the demo's keeper has ended", fix=f"see {self._log}") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            assert self._process.stdin is not None
            # Closing flushes what could not be written because the keeper has ended; that failure is known.
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.wait()


def main() -> None:
    """Start the daemon when told to; when the pipe closes, end it and everything of its home."""
    home = Home.from_environ(os.environ)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    daemon = None
    try:
        if os.read(sys.stdin.fileno(), len(START)):
            daemon = subprocess.Popen(module_argv("herdr.daemon"), stdin=subprocess.DEVNULL, cwd="/")
            while os.read(sys.stdin.fileno(), len(START)):
                pass
    finally:
        end_everything(home, daemon)


def end_everything(home: Home, daemon: subprocess.Popen[bytes] | None) -> None:
    """End the daemon, its tmux server, and every process that carries the mark of its home.

    Args:
        home: the demo's.
        daemon: its daemon; None when it was never started.
    """
    # Imported here: the keeper must be ready before the demo starts anything, and these imports take a while.
    from herdr.daemon.lock import KILL_AGENTS
    from herdr.mux.server import TmuxServer
    from herdr.runtime.ending import end_tree
    from herdr.runtime.processes import mark, snapshot

    if daemon is not None:
        daemon.send_signal(KILL_AGENTS)
        with suppress(subprocess.TimeoutExpired):
            daemon.wait(PATIENCE)
        daemon.kill()
        daemon.wait()
    with suppress(HerdrError):
        TmuxServer(home.socket_name, home.tmux_conf, os.environ).kill()
    ours = mark(home, "")
    for owner in {one.mark for one in snapshot().found.values() if one.mark.startswith(ours)}:
        end_tree(owner, grace=GRACE)


if __name__ == "__main__":
    main()
