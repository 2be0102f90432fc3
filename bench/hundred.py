"""A daemon with a hundred live agents: what it takes when they are silent, and when half of them print."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil

from bench import watched
from bench.report import Row, figure, spread
from bench.stand import Stand, stand

AGENTS = 100
#: Seconds that each phase is watched for, and seconds of rest before it.
IDLE, PRINTING, REST = 30.0, 20.0, 8.0
#: How many changes that concern no agent wake the idle daemon, and how many seconds lie between two of them.
CHANGES, CHANGE_EVERY = 20, 0.5
#: The budgets: ms, processes per tick, percent of a core, MB. The daemon must not be felt beside its agents.
TICK, PROCESSES, CPU, MEMORY = 25.0, 1.0, 1.0, 120.0


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of daemon and tmux while a phase lasted: percents of one core, and ticks in ms."""

    daemon: float
    tmux: float
    processes: int
    ticks: list[float]
    computed: list[float]

    @property
    def note(self) -> str:
        """What of a tick is the daemon's own computing; the rest is waiting for tmux, or for a processor."""
        return f"of that the daemon computes {statistics.median(self.computed):.1f} ms"


def measure() -> list[Row]:
    """Measure with silent agents, then with changes that wake the daemon, then with 50 agents that print."""
    with stand(_harnesses(), slots=AGENTS) as place:
        os.mkfifo(_gate(place))
        record = place.root.parent / "record"
        daemon = psutil.Process(place.start(sys.executable, "-m", "bench.watched", str(record)))
        tmux = psutil.Process(place.tmux_server())
        begin = time.monotonic()
        place.add_ideas(AGENTS)
        place.wait("SELECT count(*) >= ? FROM agents WHERE ready_at IS NOT NULL", AGENTS)
        launching = time.monotonic() - begin
        time.sleep(REST)

        def watch(seconds: float, meanwhile: Callable[[], None] = lambda: None) -> Phase:
            return _watch(daemon, tmux, record, seconds, meanwhile)

        idle = watch(IDLE)
        woken = watch(CHANGES * CHANGE_EVERY, lambda: _wake(place))
        _open_gate(place)
        time.sleep(REST)
        printing = watch(PRINTING)
        memory, server = daemon.memory_info().rss, tmux.memory_info().rss
        if place.value("SELECT count(*) FROM agents WHERE state <> 'ended'") != AGENTS:
            raise RuntimeError("not all agents lived to the end")
    return [
        figure("100 agents: time to launch them all", launching, "s"),
        figure("100 idle agents: the daemon's share of a core", idle.daemon, "%", budget=CPU),
        figure("100 idle agents: tmux's share of a core", idle.tmux, "%"),
        figure("100 idle agents: processes started per minute", idle.processes * 60 / IDLE, "", budget=0),
        spread("a tick over 100 agents, nothing printed", woken.ticks, "ms", budget=TICK, note=woken.note),
        spread("a tick over 100 agents, 50 print", printing.ticks, "ms", budget=TICK, note=printing.note),
        figure("50 of 100 print: the daemon's share of a core", printing.daemon, "%"),
        figure("50 of 100 print: tmux's share of a core", printing.tmux, "%"),
        figure(
            "50 of 100 print: processes started per tick",
            printing.processes / len(printing.ticks),
            "",
            budget=PROCESSES,
        ),
        figure("100 agents: the daemon's memory", memory / 1e6, "MB", budget=MEMORY),
        figure("100 agents: the tmux server's memory", server / 1e6, "MB"),
    ]


def _harnesses() -> dict[str, dict[str, object]]:
    """Half are silent; half wait at a fifo, and print once it was opened."""
    chatty = 'read _ < "$0"; while :; do echo "at work: $((n += 1))"; sleep 1; done'
    return {
        "silent": {"interactive": ["sh", "-c", "exec sleep 3600"]},
        "chatty": {"interactive": ["sh", "-c", chatty, "{log_dir}/../../gate"]},
    }


def _gate(place: Stand) -> Path:
    return place.home.root / "gate"


def _open_gate(place: Stand) -> None:
    """Let all who wait at the fifo read its end."""
    os.close(os.open(_gate(place), os.O_WRONLY))


def _wake(place: Stand) -> None:
    """Change a row that matters to no agent, again and again: the daemon wakes and looks at each of them."""
    for number in range(CHANGES):
        place.store.execute("UPDATE projects SET state_reason = ?, actor = 'human'", (str(number),))
        time.sleep(CHANGE_EVERY)


def _watch(
    daemon: psutil.Process, tmux: psutil.Process, record: Path, seconds: float, meanwhile: Callable[[], None]
) -> Phase:
    """Watch for so many seconds; a tick counts when it woke every agent's task."""
    since, before = time.time(), (_used(daemon), _used(tmux))
    meanwhile()
    time.sleep(max(0.0, since + seconds - time.time()))
    took = time.time() - since
    used = [100 * (_used(one) - was) / took for one, was in zip((daemon, tmux), before, strict=True)]
    lines = [line for line in watched.read(record) if line.at >= since]
    ticks = [line for line in lines if line.kind == "tick" and line.tasks >= AGENTS]
    return Phase(
        daemon=used[0],
        tmux=used[1],
        processes=sum(line.kind == "process" for line in lines),
        ticks=[1000 * line.seconds for line in ticks],
        computed=[1000 * line.computed for line in ticks],
    )


def _used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
