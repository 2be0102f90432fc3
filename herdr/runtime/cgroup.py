"""A control group for each agent and each command, where the user has one to give: nothing leaves it by forking.

Needs the unified hierarchy (version 2), the right to make a group below our own, and `cgroup.kill` (Linux 5.14).
Elsewhere there is none, and nothing is said about it: see `kernel.adopt_orphans` for what there is everywhere.
"""

# Also for programs that must start fast.
# ruff: noqa: PTH103, PTH106, PTH123

from __future__ import annotations

import os

NAME = "herdr-"


def our_group() -> str | None:
    """The folder of the control group that this process is in; None when no group can be made in it."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as file:
            path = next((line[3:].rstrip("\n") for line in file if line.startswith("0::")), None)
        folder = None if path is None or ".." in path else _mounted(path)
    except OSError:
        return None
    if folder is None or not all(os.access(one, os.W_OK) for one in (folder, f"{folder}/cgroup.procs")):
        return None
    return folder


def _mounted(path: str) -> str | None:
    """Where a group of the unified hierarchy is in the file system."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split()
            if fields[fields.index("-") + 1] != "cgroup2":
                continue
            top, point = fields[3].rstrip("/"), fields[4]
            if f"{path}/".startswith(f"{top}/") and "\\" not in point:
                return point + path[len(top) :].rstrip("/")
    return None


def group_for(mark: str) -> str | None:
    """The folder of the group for what carries a mark, to be made by `enter`; None where there can be none."""
    import hashlib

    ours = our_group() if mark else None
    return None if ours is None else f"{ours}/{NAME}{hashlib.sha256(os.fsencode(mark)).hexdigest()[:20]}"


def enter(group: str | None, pid: int) -> bool:
    """Put a process into a group, which is made where it is missing; False when that cannot be.

    Args:
        group: the group's folder, or None for none.
        pid: the process: what it forks from now on is in it too.
    """
    if group is None:
        return False
    try:
        os.makedirs(group, exist_ok=True)
        if os.path.exists(f"{group}/cgroup.kill"):  # noqa: PTH110
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(pid))
            return True
    except OSError:
        pass
    remove(group)
    return False


def pids(group: str) -> list[int]:
    """The processes in a group and in those that were made in it; none when it is gone."""
    found: list[int] = []
    for folder, _, _ in os.walk(group):
        try:
            with open(f"{folder}/cgroup.procs", encoding="ascii") as file:
                found += map(int, file.read().split())
        except OSError:
            continue
    return [pid for pid in found if pid]


def kill(group: str) -> None:
    """Kill all that is in a group, at once and for good, unless we are in it ourselves."""
    if os.getpid() in pids(group):
        return
    try:
        with open(f"{group}/cgroup.kill", "w", encoding="ascii") as file:
            file.write("1")
    except OSError:
        return


def remove(group: str) -> None:
    """Remove a group, if nothing lives in it."""
    for folder, _, _ in os.walk(group, topdown=False):
        try:
            os.rmdir(folder)
        except OSError:
            continue
