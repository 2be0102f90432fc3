"""The process above a command that is no agent: starts it, and ends with it whatever it left behind.

It runs by path as `python -I -S -X utf8 guard.py --report <descriptor> <group or -> <command …>` in the command's
folder and with its environment. What becomes of the command goes into the descriptor, a pipe: `errno <number>`,
`status <number>` or `signal <number>`. When nobody reads from that any more, the daemon has died: the command is
ended too, since nobody waits for it.
"""

from __future__ import annotations

import os
import select
import signal
import sys

if __name__ == "__main__":  # by path and without a site: after the standard library, so that it hides nothing
    sys.path.append(__file__.rpartition("/herdr/runtime/")[0])

from herdr.runtime import cgroup
from herdr.runtime.kernel import adopt_orphans
from herdr.runtime.subreaper import end_below

#: Python ignores these two, and an ignored signal stays ignored across exec.
PYTHON_IGNORES = (signal.SIGPIPE, signal.SIGXFSZ)
NOT_STARTED = 127


def become(argv: list[str], group: str | None, report: int) -> None:
    """In the child: turn into the command, in a session of its own, or report the errno.

    Args:
        argv: the command.
        group: its control group.
        report: the pipe.
    """
    try:
        os.setsid()
        cgroup.enter(group, os.getpid())
        for number in (*PYTHON_IGNORES, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)  # noqa: S606 - no shell may stand between
    except OSError as error:
        os.write(report, f"errno {error.errno}".encode())
    finally:
        os._exit(NOT_STARTED)


def wait(pid: int, report: int) -> int | None:
    """Wait for the command; None when nobody waits for us any more.

    Args:
        pid: the command's process.
        report: the pipe.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(woken, select.POLLIN)
    poll.register(report, 0)  # only that its other end is closed
    while True:
        ended = reap_until(pid)
        if ended is not None:
            return ended
        if any(descriptor == report for descriptor, _ in poll.poll()):
            return None
        os.read(woken, 4096)


def reap_until(pid: int) -> int | None:
    """Take in the ends of children, orphans of the command among them, until it is the command's own."""
    while True:
        try:
            one, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if one == pid:
            return status
        if one == 0:
            return None


def kill_group(pid: int) -> None:
    """Kill a command and what is in its process group: all that can be found where there is no /proc."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def run(report: int, group: str | None, argv: list[str]) -> None:
    """Run the command to its end, end what it left, and report.

    Args:
        report: the pipe.
        group: its control group.
        argv: the command.
    """
    os.set_inheritable(report, False)
    adopt_orphans()
    pid = os.fork()
    if pid == 0:
        become(argv, group, report)
    status = wait(pid, report)
    if status is None:
        kill_group(pid)
    end_below(0, group)
    if status is not None:
        ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
        os.write(report, f" {ended}".encode())


if __name__ == "__main__":
    sys.path.pop()
    run(int(sys.argv[2]), None if sys.argv[3] == "-" else sys.argv[3], sys.argv[4:])
