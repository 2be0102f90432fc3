"""Which processes are alive, and which belong to an agent: by a mark in their environment and by the tree.

A process is never recognised by its name or by its pid alone.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

import msgspec

from herdr.home import Home
from herdr.runtime.api import Process
from herdr.runtime.kernel import LINUX, start_time, started_at, stat_fields

#: The variable that every process of an agent inherits; its value is `mark(...)`.
MARK = "HERDR_AGENT"
#: Seconds by which two readings of one start may differ. Elsewhere the wrapper has only the time of day.
TOLERANCE = 0.005 if LINUX else 1.0
#: Bits of a process's flags in /proc/<pid>/stat, from the kernel's `include/linux/sched.h`.
PF_FORKNOEXEC, PF_KTHREAD = 0x00000040, 0x00200000


class ScannedProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A live process as one scan saw it."""

    process: Process
    parent: int
    mark: str
    forked: bool = False
    """It has no environment of its own yet, so its mark is its parent's or none, and may be about to change."""


class ProcessMap(msgspec.Struct, frozen=True, kw_only=True):
    """All live processes of the machine at one moment, by pid, and each one's children."""

    found: Mapping[int, ScannedProcess]
    children: Mapping[int, Sequence[int]]


def mark(home: Home, owner: int | str) -> str:
    """The value of `HERDR_AGENT` for all processes of an agent, or of another job.

    Args:
        home: whose they are. Its path is part of the mark, not its socket's name, which two homes can share: each
            ends what carries its marks.
        owner: the agent's id, or a word that names the job.
    """
    return f"{home.root.resolve()}:{owner}"


def alive(process: Process) -> bool:
    """Whether this very process still runs; a zombie does not, nor a later process of the same pid."""
    started = start_time(process.pid) if LINUX else _psutil_start(process.pid)
    return started is not None and abs(started - process.started) <= TOLERANCE


def snapshot() -> ProcessMap:
    """Look at every process once: about 70 µs each on Linux."""
    found = {one.process.pid: one for one in (_scan_proc() if LINUX else _scan_psutil())}
    children: dict[int, list[int]] = defaultdict(list)
    for pid, one in found.items():
        children[one.parent].append(pid)
    return ProcessMap(found=found, children=children)


def belongs(
    processes: ProcessMap,
    agent: str,
    roots: Iterable[Process] = (),
    above: Iterable[Process] = (),
    inside: Iterable[int] = (),
) -> set[Process]:
    """The live processes of one agent: those that carry its mark, the roots, and all that descend from them.

    What carries another agent's mark belongs to that agent. The calling process and its ancestors belong to none:
    a daemon that an agent started is not part of that agent, and neither is a process that the daemon has just
    forked, which still carries the daemon's own mark.

    Args:
        processes: one scan; serves all agents of a tick.
        agent: the agent's `mark`.
        roots: processes known to be the agent's, such as the harness; dead ones are passed over.
        above: processes that are not the agent's, but below which nothing else is, as its wrapper: what descends
            from these is the agent's whatever mark it carries.
        inside: the pids in its control group, which are the agent's as well.
    """
    found = processes.found
    # Most processes of the machine have no mark; "" must never come to mean them.
    todo = [pid for pid, one in found.items() if agent and one.mark == agent]
    todo += [root.pid for root in roots if _same(found.get(root.pid), root)]
    holders = [one.pid for one in above if _same(found.get(one.pid), one)]
    caller = os.getpid()
    nobodys = {*_ancestry(processes, caller), *holders}
    nobodys |= {pid for pid in processes.children.get(caller, ()) if found[pid].forked}
    certain = [child for pid in holders for child in processes.children.get(pid, ())]
    certain += [pid for pid in inside if pid in found]
    surely = _descend(processes, certain, nobodys)
    members = _descend(processes, todo, {*nobodys, *surely}, ("", agent))
    return {found[pid].process for pid in surely | members}


def _descend(
    processes: ProcessMap, pids: Iterable[int], without: Set[int], marks: Container[str] | None = None
) -> set[int]:
    """These processes and their descendants; only what carries one of the marks, unless that is None."""
    todo, members = list(pids), set[int]()
    while todo:
        pid = todo.pop()
        if pid in members or pid in without or (marks is not None and processes.found[pid].mark not in marks):
            continue
        members.add(pid)
        todo += processes.children.get(pid, ())
    return members


def _same(found: ScannedProcess | None, process: Process) -> bool:
    return found is not None and abs(found.process.started - process.started) <= TOLERANCE


def _ancestry(processes: ProcessMap, pid: int) -> Iterator[int]:
    while pid in processes.found:
        yield pid
        pid = processes.found[pid].parent


def is_forked(process: Process) -> bool:
    """Whether it has no environment of its own yet, so that whose it will be is not known; only Linux tells."""
    found = _look_in_proc(Path("/proc", str(process.pid))) if LINUX else None
    return _same(found, process) and found is not None and found.forked


def _scan_proc() -> Iterator[ScannedProcess]:
    """Read /proc itself: psutil takes several times as long, and dates processes by a clock that can be set."""
    entries = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return (found for found in map(_look_in_proc, entries) if found is not None)


def _look_in_proc(entry: Path) -> ScannedProcess | None:
    fields = stat_fields(int(entry.name))
    if fields is None:
        return None
    process = Process(pid=int(entry.name), started=started_at(fields))
    parent, flags = int(fields[1]), int(fields[6])
    if flags & PF_KTHREAD:
        return ScannedProcess(process=process, parent=parent, mark="")
    try:
        # Only after the flags: what had run a program by then has an environment of its own, or none yet.
        environ = (entry / "environ").read_bytes()
    except OSError:
        environ = b""  # another user's
    forked = bool(flags & PF_FORKNOEXEC) or not environ
    return ScannedProcess(process=process, parent=parent, mark=_mark_in(environ), forked=forked)


def _mark_in(environ: bytes) -> str:
    _, _, rest = (b"\0" + environ).partition(b"\0" + MARK.encode() + b"=")
    return os.fsdecode(rest.partition(b"\0")[0])


def _scan_psutil() -> Iterator[ScannedProcess]:
    import psutil

    for one in psutil.process_iter(["ppid", "create_time", "status", "environ"]):
        facts = one.info
        if facts["status"] == psutil.STATUS_ZOMBIE or facts["create_time"] is None:
            continue
        process = Process(pid=one.pid, started=facts["create_time"])
        yield ScannedProcess(
            process=process, parent=facts["ppid"] or 0, mark=(facts["environ"] or {}).get(MARK, "")
        )


def _psutil_start(pid: int) -> float | None:
    import psutil

    try:
        one = psutil.Process(pid)
        return None if one.status() == psutil.STATUS_ZOMBIE else float(one.create_time())
    except psutil.Error:
        return None
