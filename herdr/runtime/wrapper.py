"""The process in every agent's window: it starts the harness as its child and records how that ended.

It runs by path as `python -I -S -X utf8 wrapper.py --agent <id> --dir <state dir>`, so that it starts fast and
depends on nothing but the standard library. Files of the state directory that it touches:

- `launch.json`, what to start, becomes `launch.taken` by a rename: only one process can succeed in that, so no
  agent is started twice. It is emptied as soon as it is read, because it holds secrets.
- `pid.json`, which processes these are, is there before the harness runs its first instruction.
- `exit.json`, how the harness ended, is on disk before the wrapper ends.

It adopts what is orphaned below it. When the harness has ended it ends what that left behind, which may have left
its session, its environment and its parent.
"""

# Importing pathlib would take longer than all that happens here.
# ruff: noqa: PTH104, PTH105, PTH123

from __future__ import annotations

import json
import os
import signal
import sys
import time

if __name__ == "__main__":  # by path and without a site: after the standard library, so that it hides nothing
    sys.path.append(__file__.rpartition("/herdr/runtime/")[0])

from herdr.runtime import cgroup
from herdr.runtime.kernel import adopt_orphans, boot_id, start_time
from herdr.runtime.subreaper import end_below

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time importing typing would be a tenth of the start
    from collections.abc import Mapping, Sequence
    from typing import Any, NoReturn

NOTHING_TO_START = 75
CANNOT_RECORD = 74
CANNOT_START = 126
NOT_FOUND = 127

#: The terminal sends these to the harness, which is in the foreground; SIGTTOU would stop us handing it over.
IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU, signal.SIGTTIN)
#: Meant for the work, so for all processes of the harness's group.
TO_GROUP = (signal.SIGTERM, signal.SIGHUP)
#: Meant for the program itself: a shell that it started would die of them.
TO_CHILD = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH)
#: Python ignores these two, and an ignored signal stays ignored across exec.
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)

#: What a terminal program knows of its terminal comes from the pane, whatever terminal the daemon was started in.
FROM_PANE = ("TERM", "TERMINFO", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION")
NEVER_PASSED = ("TMUX", "TMUX_PANE", "WINDOWID", "LINES", "COLUMNS", "OLDPWD")

#: Seconds before a stopped harness is resumed: it bounds the loop of one that stops itself again.
RESUME_PAUSE = 0.5
#: Seconds that what a harness leaves behind has to end by itself.
GRACE = 5.0


def write_json(path: str, data: object, *, sync: bool = False) -> None:
    """Put `data` at `path` in one step, readable by its owner only; with `sync` it survives a power cut."""
    half = f"{path}.{os.getpid()}.tmp"
    with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        json.dump(data, file)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    os.replace(half, path)


def claim(directory: str) -> dict[str, Any] | None:
    """Take the launch file for this process alone, or None when it was revoked or taken already."""
    taken = f"{directory}/launch.taken"
    try:
        os.rename(f"{directory}/launch.json", taken)
    except FileNotFoundError:
        return None
    with open(taken, encoding="ascii") as file:
        text = file.read()
    os.truncate(taken, 0)
    launch: dict[str, Any] = json.loads(text)
    return launch


def environment(launch: Mapping[str, Any], pane: Mapping[str, str]) -> dict[str, str]:
    """The harness's environment: that of the launch, not the tmux server's, in the terminal of this pane.

    Args:
        launch: the content of the launch file.
        pane: the wrapper's own environment, which is that of the pane.
    """
    dropped = {*launch["clear"], *FROM_PANE, *NEVER_PASSED}
    env = {name: value for name, value in launch["env"].items() if name not in dropped}
    env |= {name: pane[name] for name in FROM_PANE if name in pane}
    env["PWD"] = launch["cwd"]
    return env


def take_terminal(group: int) -> None:
    """Make `group` the one that gets the keyboard and Ctrl-C; nothing to do without a terminal."""
    try:
        os.tcsetpgrp(0, group)
    except OSError:
        return


def become(argv: list[str], env: Mapping[str, str], go: int, report: int) -> NoReturn:
    """In the child: wait until our process is recorded, then turn into the harness, or report the errno.

    Args:
        argv: the harness's command.
        env: its environment.
        go: the pipe that gets one byte when the process is recorded, or is closed when it must not start.
        report: the pipe that takes the errno; exec closes it.
    """
    try:
        os.setpgid(0, 0)
        take_terminal(os.getpid())
        for number in (*IGNORED, *TO_GROUP, *TO_CHILD, *PYTHON_IGNORES):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if os.read(go, 1):
            os.execvpe(argv[0], argv, env)  # noqa: S606 - no shell may stand between
    except OSError as error:
        os.write(report, str(error.errno).encode())
    finally:
        os._exit(NOT_FOUND)


class Child:
    """The harness's process, and the signals that are passed on to it."""

    def __init__(self, argv: list[str], env: Mapping[str, str]) -> None:
        """Fork it; it waits for `release`. Signals that arrive meanwhile are kept until it can get them."""
        go, self._go = os.pipe()
        self._report, report = os.pipe()
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, (*TO_GROUP, *TO_CHILD))
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._go)
            become(argv, env, go, report)
        self.started = start_time(self.pid) or time.time()
        os.close(go)
        os.close(report)
        for number in (*TO_GROUP, *TO_CHILD):
            signal.signal(number, self._pass_on)

    def _pass_on(self, number: int, _frame: object) -> None:
        try:
            (os.killpg if number in TO_GROUP else os.kill)(self.pid, number)
        except ProcessLookupError:
            return

    def release(self) -> int:
        """Let it become the harness; returns 0, or the errno of what stood in the way."""
        try:
            os.write(self._go, b"1")
        except BrokenPipeError:
            return 0  # killed while it waited: how it ended says the rest
        finally:
            os.close(self._go)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*TO_GROUP, *TO_CHILD))
        return int(os.read(self._report, 16) or b"0")

    def abandon(self) -> None:
        """End it before it became anything."""
        os.close(self._go)
        os.waitpid(self.pid, 0)

    def wait(self) -> tuple[int | None, int | None]:
        """Its exit status or the signal that ended it. One that stops is resumed: no shell is there to do it."""
        while True:
            pid, status = os.waitpid(-1, os.WUNTRACED)
            if pid != self.pid:
                continue  # an orphan that we adopted
            if not os.WIFSTOPPED(status):
                break
            time.sleep(RESUME_PAUSE)
            take_terminal(self.pid)
            try:
                os.killpg(self.pid, signal.SIGCONT)
            except OSError:
                continue
        # The window may be closing: what is left to do is to write down how it ended.
        for number in (*TO_GROUP, *TO_CHILD):
            signal.signal(number, signal.SIG_IGN)
        return (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None)


def say(text: str) -> None:
    """Tell the person who looks at the window, if it is still there."""
    try:
        print(f"herdr: {text}", flush=True)
    except OSError:
        return


def record_exit(
    directory: str,
    status: int | None,
    number: int | None,
    error: str | None,
    ended_at: float | None = None,
    left: Sequence[str] = (),
) -> int:
    """Write `exit.json`; returns what the wrapper exits with.

    Args:
        directory: the agent's state directory.
        status: the exit status, or None when a signal ended it.
        number: that signal, or None.
        error: why it was not even started, see `runtime.api.Exit`; None when it was.
        ended_at: when it ended; now when None.
        left: what it left running, and had to be ended.
    """
    ended = time.time() if ended_at is None else ended_at
    data = {"status": status, "signal": number, "error": error, "left": left, "ended_at": ended}
    try:
        write_json(f"{directory}/exit.json", data, sync=True)
    except OSError as problem:
        say(f"cannot record the exit in {directory}: {problem}")
    return status if status is not None else 128 + (number or 0)


def record_end(directory: str, status: int | None, number: int | None, group: str | None) -> int:
    """Write `exit.json` and end what the harness left; returns what the wrapper exits with.

    First it is written down how the harness ended, which must not be lost if we are killed meanwhile.

    Args:
        directory: the agent's state directory.
        status: the harness's exit status, or None when a signal ended it.
        number: that signal, or None.
        group: the folder of its control group, or None.
    """
    ended_at = time.time()
    result = record_exit(directory, status, number, None, ended_at)
    left = end_below(GRACE, group)
    return record_exit(directory, status, number, None, ended_at, left) if left else result


def run(agent: str, directory: str) -> int:
    """Claim the launch, run it to its end, and return the exit status for this process.

    Args:
        agent: the agent's id, for messages.
        directory: its state directory, with the launch file.
    """
    try:
        launch = claim(directory)
        if launch is None:
            say(f"nothing to start for agent {agent}: its launch was revoked, or taken already")
            return NOTHING_TO_START
        argv, env = launch["argv"], environment(launch, os.environ)
        program, cwd = argv[0], launch["cwd"]
    except (OSError, ValueError, LookupError) as problem:
        say(f"cannot read the launch file of agent {agent} in {directory}: {problem}")
        return record_exit(directory, CANNOT_START, None, "launch")
    try:
        os.chdir(cwd)
    except OSError as problem:
        say(f"cannot work in {cwd}: {problem.strerror}")
        return record_exit(directory, CANNOT_START, None, "cwd")
    child = Child(argv, env)
    adopt_orphans()
    group = launch.get("group")
    group = group if cgroup.enter(group, child.pid) else None
    try:
        write_json(f"{directory}/pid.json", {**processes(child), "group": group})
    except OSError as problem:
        child.abandon()
        say(f"agent {agent} was not started, because its process cannot be recorded in {directory}: {problem}")
        record_exit(directory, CANNOT_RECORD, None, "record")
        return CANNOT_RECORD
    problem_number = child.release()
    status, number = child.wait()
    if not problem_number:
        return record_end(directory, status, number, group)
    end_below(0, group)
    say(f"cannot start {program}: {os.strerror(problem_number)}")
    return record_exit(directory, *start_failure(problem_number))


def processes(child: Child) -> dict[str, Any]:
    """What `pid.json` holds: this process, the harness's and what started us, and which boot it was."""
    own, parent = os.getpid(), os.getppid()
    begin = start_time(parent) if parent > 1 else None
    return {
        "boot": boot_id(),
        "wrapper": {"pid": own, "started": start_time(own) or time.time()},
        "child": {"pid": child.pid, "started": child.started},
        "parent": None if begin is None else {"pid": parent, "started": begin},
    }


def start_failure(number: int) -> tuple[int, None, str]:
    """The exit status that a shell gives for this errno of exec, no signal, and our word for it."""
    missing = isinstance(OSError(number, ""), (FileNotFoundError, NotADirectoryError))
    if missing:
        return NOT_FOUND, None, "not_found"
    return CANNOT_START, None, "permission" if isinstance(OSError(number, ""), PermissionError) else "exec"


if __name__ == "__main__":
    sys.path.pop()
    options = dict(zip(sys.argv[1::2], sys.argv[2::2], strict=True))
    sys.exit(run(options["--agent"], options["--dir"]))
