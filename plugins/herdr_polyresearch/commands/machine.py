"""What this machine has: cores, memory and GPUs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess

import msgspec
import psutil

GIB = 2**30
SECONDS = 5.0


class Gpu(msgspec.Struct, frozen=True):
    """One graphics card; memory in GiB."""

    vendor: str
    name: str
    memory_gb: float


class Hardware(msgspec.Struct, frozen=True, kw_only=True):
    """The whole machine and how busy it is; memory in GiB."""

    logical_cores: int
    physical_cores: int
    total_memory_gb: float
    gpus: tuple[Gpu, ...]
    platform: str
    load_avg_1m: float
    available_memory_gb: float


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """The part of it that a node may use."""

    cores: int
    memory_gb: float
    gpus: int
    capacity_pct: int


def look() -> Hardware:
    """Look at this machine."""
    memory = psutil.virtual_memory()
    logical = psutil.cpu_count() or 1
    return Hardware(
        logical_cores=logical,
        physical_cores=psutil.cpu_count(logical=False) or logical,
        total_memory_gb=round(memory.total / GIB, 1),
        gpus=_gpus(),
        platform=f"{platform.system().lower()}/{platform.machine()}",
        load_avg_1m=round(os.getloadavg()[0], 2),
        available_memory_gb=round(memory.available / GIB, 1),
    )


def budget(hardware: Hardware, percent: int) -> Budget:
    """The share of a machine that a node may use: at least one core, and one card where there is one.

    Args:
        hardware: the machine.
        percent: how much of it.
    """
    count = len(hardware.gpus)
    return Budget(
        cores=max(1, hardware.physical_cores * percent // 100),
        memory_gb=round(hardware.total_memory_gb * percent / 100, 1),
        gpus=max(1, count * percent // 100) if count else 0,
        capacity_pct=percent,
    )


def _gpus() -> tuple[Gpu, ...]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    argv = [program, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            argv,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    rows = [row.rpartition(", ") for row in done.stdout.splitlines()]
    return tuple(Gpu("nvidia", name, round(int(size) / 1024, 1)) for name, _, size in rows if size.isdigit())
