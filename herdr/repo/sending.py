"""Sends commits from one git folder to another as a pack, whose every object gets its name computed anew."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from herdr.repo.lending import LendError

#: Bytes of packed objects that one call may send.
SIZE_LIMIT = 2 * 1024**3
PACK = ("pack-objects", "--revs", "--thin", "--stdout", "-q")
UNPACK = ("index-pack", "--stdin", "--fix-thin", f"--max-input-size={SIZE_LIMIT}")
#: How an agent's objects are looked at: each by itself, and whether all that they name is there. In a partial
#: clone what is not there can be fetched.
WHOLE, EACH = "--strict", "--fsck-objects"
#: Without these git does not run, or leaves its temporary files elsewhere.
KEPT = ("PATH", "HOME", "TMPDIR")
#: Bytes of what git says that are read.
SAID = 64 * 1024


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A git folder to send from or to: where git runs, and the variables that lead it there."""

    folder: Path
    env: Mapping[str, str]


def send(
    source: Side,
    target: Side,
    commits: Sequence[str],
    known: Sequence[str],
    deadline: float,
    *,
    looks: Sequence[str] = (),
) -> str | None:
    """Send commits with all that they need.

    Args:
        source: has them.
        target: gets them, and keeps nothing when something is broken or missing.
        commits: full ids.
        known: commits that both have, with their history.
        deadline: when it has to be done, by the monotonic clock.
        looks: how closely the objects are looked at; their names are computed anew in any case.

    Returns:
        The name of the pack that the target has got, without its suffix; None where nothing was missing there.

    Raises:
        LendError: they could not be sent; git's own words.
    """
    revisions = "".join([*(f"{sha}\n" for sha in commits), *(f"^{sha}\n" for sha in known)]).encode()
    with contextlib.ExitStack() as files:
        asked, packs, takes, got = (files.enter_context(tempfile.TemporaryFile()) for _ in range(4))
        # Files, so that no pipe can fill up with nobody reading.
        asked.write(revisions)
        asked.seek(0)
        pack = _start(source, PACK, asked, subprocess.PIPE, packs)
        try:
            take = _start(target, (*UNPACK, *looks), pack.stdout, got.fileno(), takes)
        except BaseException:
            _end(pack)
            raise
        assert pack.stdout is not None
        pack.stdout.close()
        in_time = _wait(pack, take, deadline)
        # What does not read is told by its reader too, as a pack that ends early: the cause comes first.
        said = [_words(file) for process, file in ((pack, packs), (take, takes)) if process.returncode]
        if not in_time:
            raise LendError("it was not done in time")
        if said:
            raise LendError(next(filter(None, said), "git failed and said nothing"))
        got.seek(0)
        name = got.read(SAID).decode("ascii", "replace").strip().partition("\t")[2]
    return f"pack-{name}" if name else None


def _start(
    side: Side, command: Sequence[str], stdin: IO[bytes] | None, stdout: int, stderr: IO[bytes]
) -> subprocess.Popen[bytes]:
    env = {name: os.environ[name] for name in KEPT if name in os.environ} | {"LC_ALL": "C"} | dict(side.env)
    return subprocess.Popen(
        [shutil.which("git") or "git", *command],
        cwd=side.folder,
        env=env,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def _wait(pack: subprocess.Popen[bytes], take: subprocess.Popen[bytes], deadline: float) -> bool:
    """Wait for both; whether they ended by themselves."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        _end(take)
        _end(pack)

    timer = threading.Timer(max(deadline - time.monotonic(), 0.0), give_up)
    timer.daemon = True
    timer.start()
    try:
        take.wait()
        pack.wait()
    finally:
        timer.cancel()
        _end(take)
        _end(pack)
    return not late.is_set()


def _words(file: IO[bytes]) -> str:
    """The first line that says what went wrong."""
    file.seek(0)
    lines = [line.strip() for line in file.read(SAID).decode("utf-8", "replace").splitlines() if line.strip()]
    return next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0] if lines else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        process.wait()
