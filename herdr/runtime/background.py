"""The runtime `subprocess`: every agent a background process with its output in a log file, and no terminal."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

import anyio.to_thread

from herdr.errors import HerdrError
from herdr.mux.quote import clean
from herdr.mux.screen import Delivery, Screen
from herdr.runtime.api import CANNOT_RECEIVE, LaunchRequest, Place, Runtime
from herdr.runtime.ending import end_agent
from herdr.runtime.launchfile import read_exit, read_process, wait_started, wrapper_argv, write_launch
from herdr.runtime.processes import MARK, alive

#: What an agent prints, in its state directory: all of it, also after it has ended.
LOG_FILE = "output.log"
#: How much of the end of a log is read as its screen, in bytes: a line of JSON can hold a whole file.
TAIL = 64 * 1024
#: Seconds for a wrapper to record its process; normally some 30 ms.
START_LIMIT = 20.0


class BackgroundRuntime(Runtime):
    """Agents as background processes, each a session of its own so that it outlives the daemon.

    All that is known of an agent is in its state directory, so one that an earlier daemon started is like any
    other. A place is the agent's log file.
    """

    mode: Literal["interactive", "headless"] = "headless"

    def __init__(self) -> None:
        self._read: dict[str, tuple[int, int]] = {}
        self._children: set[int] = set()

    async def aclose(self) -> None:
        """Let go of the agents; they live on."""
        self._reap()

    async def launch(self, request: LaunchRequest) -> Place:
        """Start the wrapper, and return once it has recorded its process or why there is none.

        Raises:
            HerdrError: it could not be started; nothing of it runs, and nothing will.
        """
        self._reap()
        log = request.state_dir / LOG_FILE
        await anyio.to_thread.run_sync(write_launch, request)
        try:
            self._children.add(await anyio.to_thread.run_sync(_spawn, wrapper_argv(request), log))
            await wait_started(request.state_dir, START_LIMIT)
            if not _is_on_record(request.state_dir):
                raise HerdrError(
                    f"the wrapper of agent {request.agent_id} recorded no process within {START_LIMIT:.0f} s",
                    fix=f"see {log}, and what else the machine is busy with",
                )
        except (HerdrError, OSError) as error:
            await end_agent(request.env.get(MARK, ""), request.state_dir)
            if isinstance(error, HerdrError):
                raise
            problem = f"agent {request.agent_id} cannot be started in the background: {error}"
            raise HerdrError(
                problem, fix=f"look at {request.state_dir}, and at the limits of processes"
            ) from error
        return _place(log)

    async def find(self, agent_id: int, state_dir: Path) -> Place | None:  # noqa: ARG002 - its directory is its own
        """Where an agent is that an earlier daemon started, also one that has ended; None when it was lost."""
        if not (state_dir / "pid.json").exists():
            # The daemon before may have been killed in the moment in which the wrapper started.
            await wait_started(state_dir, START_LIMIT)
        return _place(state_dir / LOG_FILE) if _is_on_record(state_dir) else None

    async def exists(self, place: Place) -> bool:
        """Whether the agent runs, or has ended with its end on record; False when the machine went down."""
        return bool(place.pane) and _is_on_record(Path(place.pane).parent)

    def changed(self, place: Place) -> bool:
        """Whether the log has grown since it was last read."""
        return self._read.get(place.pane) != _file_version(place.pane)

    async def screen(self, place: Place) -> Screen | None:
        """The end of the log as plain text, or None when there is none."""
        self._reap()
        if not place.pane:
            return None
        self._read[place.pane] = _file_version(place.pane)
        text = await anyio.to_thread.run_sync(tail_of, Path(place.pane))
        return None if text is None else Screen(text=text, dead=read_exit(Path(place.pane).parent) is not None)

    async def send(self, *_text: object, **_rules: object) -> Delivery:
        """Refuse: an agent without a terminal cannot receive text (docs/ideas-seeds-runs.md)."""
        return Delivery(state="failed", detail=CANNOT_RECEIVE)

    async def resume_send(self, *_text: object, **_rules: object) -> Delivery:
        """A text that was typed was typed into a pane, before the project's runtime was another one."""
        return Delivery(state="unconfirmed", detail="its window is gone")

    async def close(self, place: Place) -> None:
        """Forget an agent that has ended; its log stays."""
        self._reap()
        self._read.pop(place.pane, None)

    def _reap(self) -> None:
        """Let the system forget wrappers that have ended; the end itself is known by `ending.wait_end`."""
        for pid in list(self._children):
            with suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0] == 0:
                    continue
            self._children.discard(pid)


def tail_of(log: Path) -> str | None:
    """The end of a log as plain text, from a whole line on; None when there is no such file."""
    try:
        with log.open("rb") as file:
            start = max(0, file.seek(0, os.SEEK_END) - TAIL)
            file.seek(start)
            data = file.read(TAIL)
    except OSError:
        return None
    if start:
        data = data.partition(b"\n")[2] or data
    return clean(data.decode("utf-8", "replace"), newline="keep", disarm="", disarm_at=False)


def _spawn(argv: tuple[str, ...], log: Path) -> int:
    """Start a process that has neither a terminal nor anything of ours, and return its pid."""
    files = (
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    )
    # The harness's environment is in the launch file; of the wrapper's own it gets only the kind of terminal.
    return os.posix_spawn(argv[0], argv, {"TERM": "dumb"}, file_actions=files, setsid=True)


def _place(log: Path) -> Place:
    return Place(session="", window="", pane=str(log))


def _is_on_record(state_dir: Path) -> bool:
    """Whether an agent lives, or has ended with its end on record, since the machine was started."""
    process, left = read_process(state_dir), read_exit(state_dir)
    if process is None:
        return left is not None and not (state_dir / "pid.json").exists()
    return left is not None or alive(process.wrapper)


def _file_version(log: str) -> tuple[int, int]:
    try:
        found = Path(log).stat()
    except OSError:
        return (0, 0)
    return (found.st_size, found.st_mtime_ns)
