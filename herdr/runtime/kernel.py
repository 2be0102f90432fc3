"""What Linux tells of processes and does to them, for programs that must start fast: only the standard library.

A process is told from a later one of its pid by when it started.
"""

# Importing pathlib would take longer than all that happens here.
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # at run time importing typing would be a tenth of the start
    from collections.abc import Iterator

#: Seconds by which two readings of one start may differ once they were written as text.
TICK = 0.005
LINUX = sys.platform == "linux"
#: From the kernel's `include/uapi/linux/prctl.h`.
PR_SET_CHILD_SUBREAPER = 36


def boot_id() -> str:
    """A word that changes with every boot, or "" where the system has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def stat_fields(pid: int) -> list[bytes] | None:
    """The fields of a live process's `/proc/<pid>/stat` from its state on; None when it is gone, or a zombie.

    One whose first thread has ended is shown as a zombie while its others go on: it lives.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in b"ZX" and int(fields[17]) <= 1 else fields


def started_at(fields: list[bytes]) -> float:
    """When a process started, in seconds since boot, which no setting of the clock moves."""
    return int(fields[19]) / os.sysconf("SC_CLK_TCK")


def start_time(pid: int) -> float | None:
    """When a live process started, see `started_at`; None when it is gone or the system has no /proc."""
    fields = stat_fields(pid)
    return None if fields is None else started_at(fields)


def send(pid: int, started: float, number: signal.Signals) -> None:
    """Signal this very process, or nothing when it is gone: a pidfd cannot come to mean a later process.

    Args:
        pid: the process.
        started: when it started.
        number: the signal.
    """
    try:
        descriptor = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except ProcessLookupError:
        return
    except OSError:
        descriptor = None
    try:
        now = start_time(pid)
        if now is None or abs(now - started) > TICK:
            return
        if descriptor is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        if descriptor is not None:
            os.close(descriptor)


def adopt_orphans() -> bool:
    """Have whatever is orphaned below this process become its child, not init's; says whether the system does."""
    if not LINUX:
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def below(pid: int) -> dict[int, float]:
    """All live processes that descend from one, each with its start."""
    found: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for one, fields in _all():
        found[one] = started_at(fields)
        children.setdefault(int(fields[1]), []).append(one)
    todo, members = list(children.get(pid, ())), {}
    while todo:
        one = todo.pop()
        members[one] = found[one]
        todo += children.get(one, ())
    return members


def _all() -> Iterator[tuple[int, list[bytes]]]:
    for name in os.listdir("/proc") if LINUX else ():
        fields = stat_fields(int(name)) if name.isdigit() else None
        if fields is not None:
            yield int(name), fields


def words(pid: int) -> str:
    """What a process was started with, for people; a part when it is much, "" when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            said = file.read(200).replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
    return "".join(letter if letter.isprintable() else "?" for letter in said).strip()
