"""Which processes are an agent's, and that all of them can be ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from herdr.home import Home
from herdr.runtime.api import Process
from herdr.runtime.ending import end_agent, end_tree, end_tree_in_thread, wait_end
from herdr.runtime.kernel import LINUX
from herdr.runtime.launchfile import read_exit, read_process, revoke_launch, write_launch
from herdr.runtime.processes import MARK, ProcessMap, alive, belongs, mark, snapshot


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(root=tmp_path / "home", socket_name="herdr")


@pytest.fixture
def agent(home: Home) -> str:
    return mark(home, 1)


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Start Python code that prints a word once it is set up, and return its process."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str, **env: str) -> Process:
        one = subprocess.Popen(
            [sys.executable, "-c", code],
            env={"PATH": os.environ["PATH"], **env},
            stdout=subprocess.PIPE,
            cwd=tmp_path,
        )
        started.append(one)
        assert one.stdout is not None
        assert one.stdout.readline()
        found = identify(one.pid)
        assert found is not None
        return found

    yield start
    for one in started:
        one.kill()
        one.wait()
        assert one.stdout is not None
        one.stdout.close()


SLEEP = "print('up', flush=True); import time; time.sleep(100)"
#: Writes its pid to a file, in a session of its own, deaf to polite requests, with no mark in its environment.
DAEMON = """
import os, signal, subprocess, sys, time
code = '''
import os, signal, time
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
open("half", "w").write(str(os.getpid())); os.rename("half", "daemon-pid")
while True: time.sleep(1)
'''
subprocess.Popen([sys.executable, "-c", code], env={}, start_new_session=True)
while not os.path.exists("daemon-pid"): time.sleep(0.01)
print("up", flush=True)
time.sleep(100)
"""


def identify(pid: int) -> Process | None:
    found = snapshot().found.get(pid)
    return found.process if found else None


def pids(processes: set[Process]) -> set[int]:
    return {process.pid for process in processes}


def test_a_process_is_itself_and_not_a_later_one_of_its_pid(spawn: Callable[..., Process]) -> None:
    process = spawn(SLEEP)
    assert alive(process)
    assert not alive(Process(pid=process.pid, started=process.started + 1))
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not alive(process), "a zombie is not alive"


def test_processes_are_found_by_mark_and_by_tree(spawn: Callable[..., Process], home: Home, agent: str) -> None:
    child = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', %r], env=%r); " + SLEEP
    marked = spawn(child % (SLEEP, {}), **{MARK: agent})
    unmarked = spawn(child % (SLEEP, {}))
    other = spawn(SLEEP, **{MARK: mark(home, 11)})
    found = belongs(snapshot(), agent)
    assert marked in found
    assert len(found) == 2, "and its child, that has no mark"
    assert len(belongs(snapshot(), agent, [unmarked])) == 4
    assert other not in found
    assert belongs(snapshot(), agent, [Process(pid=unmarked.pid, started=unmarked.started + 1)]) == found


def test_another_agent_s_processes_are_not_a_part_of_the_tree_above_them(
    spawn: Callable[..., Process], home: Home, agent: str
) -> None:
    other = mark(home, 2)
    # It is "up" only once its child is: until the child runs its program it carries its parent's mark.
    code = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, '-c', {SLEEP!r}], env={{{MARK!r}: {other!r}}}, stdout=subprocess.PIPE)
child.stdout.readline()
{SLEEP}
"""
    outer = spawn(code, **{MARK: agent})
    assert belongs(snapshot(), agent) == {outer}
    inner = belongs(snapshot(), other)
    assert len(inner) == 1
    assert end_tree(other, grace=5) == set()
    assert alive(outer)


#: Forks a child that becomes another agent's process only when it is told to, and is `child` in what follows.
FORKED = """
MARK, OTHER = %r, %r
import os, signal, sys, time
from pathlib import Path
told, tell = os.pipe()
child = os.fork()
if child == 0:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.read(told, 1)
    os.execve("/bin/sleep", ["sleep", "100"], {MARK: OTHER})
def become():
    os.write(tell, b"1")
    while OTHER not in Path(f"/proc/{child}/environ").read_text(): time.sleep(0.001)
"""


@pytest.mark.skipif(not LINUX, reason="only Linux tells what has run no program yet")
def test_what_a_daemon_has_just_forked_is_not_the_agent_s_that_started_the_daemon(
    spawn: Callable[..., Process], home: Home, agent: str, tmp_path: Path
) -> None:
    """Between fork and exec it still carries the mark that the daemon was started with."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
{FORKED % (MARK, mark(home, 2))}
from herdr.runtime.ending import end_tree
from herdr.runtime.processes import belongs, snapshot
seen = belongs(snapshot(), {agent!r})
left = end_tree({agent!r}, grace=0.1)
become()
Path("report").write_text(f"{{len(seen)}} {{len(left)}} {{child}}")
{SLEEP}
"""
    spawn(code, **{MARK: agent})
    seen, left, child = map(int, (tmp_path / "report").read_text().split())
    others = belongs(snapshot(), mark(home, 2))
    assert (seen, left, pids(others)) == (0, 0, {child})
    assert end_tree(mark(home, 2)) == set()


@pytest.mark.skipif(not LINUX, reason="only Linux tells what has run no program yet")
def test_what_becomes_another_agent_s_is_not_asked_to_end_with_the_tree_above_it(
    spawn: Callable[..., Process], home: Home, agent: str, tmp_path: Path
) -> None:
    code = f"""
{FORKED % (MARK, mark(home, 2))}
signal.signal(signal.SIGTERM, lambda *_: (become(), sys.exit()))
Path("child").write_text(str(child))
{SLEEP}
"""
    outer = spawn(code, **{MARK: agent})
    child = int((tmp_path / "child").read_text())
    assert pids(belongs(snapshot(), agent)) == {outer.pid, child}
    assert end_tree(agent, grace=10) == set()
    assert not alive(outer)
    assert pids(belongs(snapshot(), mark(home, 2))) == {child}
    assert end_tree(mark(home, 2)) == set()


@pytest.mark.skipif(not LINUX, reason="only Linux tells what has run no program yet")
def test_what_becomes_another_agent_s_is_not_killed_with_the_tree_above_it(
    spawn: Callable[..., Process], home: Home, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"""
{FORKED % (MARK, mark(home, 2))}
signal.signal(signal.SIGUSR1, lambda *_: (become(), Path("became").touch()))
Path("child").write_text(str(child))
{SLEEP}
"""
    outer = spawn(code, **{MARK: agent})
    child = int((tmp_path / "child").read_text())
    looks: list[object] = []

    def look() -> ProcessMap:
        looks.append(None)
        if len(looks) == 3:  # it has been seen as this agent's and told to stop, but was faster
            for number in (signal.SIGCONT, signal.SIGUSR1):
                os.kill(outer.pid, number)
                os.kill(child, signal.SIGCONT)
            wait_for((tmp_path / "became").exists)
            os.kill(child, signal.SIGSTOP)
        return snapshot()

    monkeypatch.setattr("herdr.runtime.ending.snapshot", look)
    assert end_tree(agent, grace=0) == set()
    assert not alive(outer)
    assert pids(belongs(snapshot(), mark(home, 2))) == {child}
    wait_for(lambda: Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "S")
    assert end_tree(mark(home, 2)) == set()


def wait_for(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_homes_have_marks_of_their_own(tmp_path: Path) -> None:
    assert mark(Home(root=tmp_path / "a", socket_name="s"), 1) != mark(
        Home(root=tmp_path / "b", socket_name="s"), 1
    )


def test_neither_the_caller_nor_its_ancestors_are_an_agent_s(agent: str) -> None:
    me, parent = identify(os.getpid()), identify(os.getppid())
    assert me is not None
    assert parent is not None
    assert not belongs(snapshot(), agent, [parent, me]) & {me, parent}


@pytest.mark.parametrize("pidfd", [True, False], ids=["pidfd", "polling"])
def test_the_end_of_a_process_is_noticed(
    spawn: Callable[..., Process], monkeypatch: pytest.MonkeyPatch, pidfd: Any
) -> None:
    if not pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    process = spawn(SLEEP)

    async def scenario() -> None:
        ended = anyio.Event()

        async def watch() -> None:
            await wait_end(process)
            ended.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await anyio.wait_all_tasks_blocked()
            assert not ended.is_set()
            os.kill(process.pid, signal.SIGKILL)
            with anyio.fail_after(10):
                await ended.wait()

    anyio.run(scenario)


def test_waiting_for_what_has_ended_or_never_was_returns(spawn: Callable[..., Process]) -> None:
    process = spawn(SLEEP)
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    anyio.run(wait_end, process)
    later = identify(os.getpid())
    assert later is not None
    anyio.run(wait_end, Process(pid=later.pid, started=later.started - 100))


def test_waiting_can_be_cancelled_and_leaves_no_descriptor(spawn: Callable[..., Process]) -> None:
    process = spawn(SLEEP)

    async def scenario() -> None:
        with anyio.move_on_after(0.01):
            await wait_end(process)

    before = len(list(Path("/proc/self/fd").iterdir()))
    anyio.run(scenario)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


POLITE = f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: (open('bye', 'w'), sys.exit(0))); {SLEEP}"


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_a_polite_process_gets_to_end_itself(
    spawn: Callable[..., Process], agent: str, tmp_path: Path, stopped: Any
) -> None:
    process = spawn(POLITE, **{MARK: agent})
    if stopped:
        os.kill(process.pid, signal.SIGSTOP)
    assert end_tree(agent, grace=10) == set()
    assert not alive(process)
    assert (tmp_path / "bye").exists()


def test_what_left_the_session_and_ignores_every_request_is_ended(
    spawn: Callable[..., Process], agent: str, tmp_path: Path
) -> None:
    process = spawn(DAEMON, **{MARK: agent})
    daemon = identify(int((tmp_path / "daemon-pid").read_text()))
    assert daemon is not None
    assert end_tree(agent, grace=0.3) == set()
    assert not alive(process)
    assert not alive(daemon)


def test_what_the_agent_left_behind_is_found_by_its_mark(spawn: Callable[..., Process], agent: str) -> None:
    job = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {SLEEP!r}], start_new_session=True)"
    process = spawn(f"{job}; {SLEEP}", **{MARK: agent})
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    (left,) = belongs(snapshot(), agent)
    assert end_tree(agent, grace=5) == set()
    assert not alive(left)


def test_processes_that_start_each_other_again_are_ended(spawn: Callable[..., Process], agent: str) -> None:
    """Two that watch over each other, deaf to SIGTERM: killing one of them is not enough."""
    code = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print('up', flush=True)
def guard(other):
    while True:
        if not os.path.exists(f"/proc/{other}"):
            me = os.getpid()
            other = os.fork() or guard(me)
        time.sleep(0.001)
me = os.getpid()
guard(os.fork() or guard(me))
"""
    spawn(code, **{MARK: agent})
    assert end_tree(agent, grace=0.1) == set()
    assert belongs(snapshot(), agent) == set()


def test_a_bomb_that_forks_on_and_on_is_ended(spawn: Callable[..., Process], agent: str) -> None:
    code = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print('up', flush=True)
for _ in range(3000):
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    time.sleep(0.02)
"""
    spawn(code, **{MARK: agent})
    assert end_tree(agent, grace=0.1) == set()
    assert belongs(snapshot(), agent) == set()


def test_no_mark_means_no_process_and_not_all_unmarked_ones(spawn: Callable[..., Process]) -> None:
    process = spawn(SLEEP)
    assert belongs(snapshot(), "") == set()
    assert belongs(snapshot(), "", [process]) == {process}


def test_a_pid_that_was_given_to_another_process_is_left_alone(spawn: Callable[..., Process], agent: str) -> None:
    bystander = spawn(SLEEP)
    assert end_tree(agent, [Process(pid=bystander.pid, started=bystander.started - 5)], grace=0) == set()
    assert alive(bystander)


def test_the_caller_survives_ending_a_tree_that_it_is_in(agent: str) -> None:
    me = identify(os.getpid())
    assert me is not None
    assert end_tree(agent, [me], grace=0) == set()


def test_in_a_thread(spawn: Callable[..., Process], agent: str) -> None:
    process = spawn(SLEEP, **{MARK: agent})

    async def scenario() -> set[Process]:
        return await end_tree_in_thread(agent, [process], grace=5)

    assert anyio.run(scenario) == set()
    assert not alive(process)


# --- a whole agent -----------------------------------------------------------------------------------------


def test_an_agent_is_ended_and_its_end_recorded(start: Any, request_for: Any, agent: str, tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + SLEEP
    env = {"PATH": os.environ["PATH"], MARK: agent}
    one = start(request_for(tmp_path, sys.executable, "-c", code, env=env))
    one.shows(b"up")

    async def scenario() -> set[Process]:
        return await end_agent(agent, one.state_dir, grace=0.2)

    assert anyio.run(scenario) == set()
    ended = read_exit(one.state_dir)
    assert ended is not None
    assert ended.signal == signal.SIGKILL


def test_an_agent_is_ended_the_moment_it_starts(start: Any, request_for: Any, agent: str, tmp_path: Path) -> None:
    """Whether its wrapper has the launch file by then or not."""

    async def scenario(state_dir: Path) -> set[Process]:
        return await end_agent(agent, state_dir, grace=5)

    for index in range(8):
        folder = tmp_path / str(index)
        folder.mkdir()
        env = {"PATH": os.environ["PATH"], MARK: agent}
        one = start(request_for(folder, "sleep", "100", env=env))
        time.sleep(index * 0.01)
        assert anyio.run(scenario, one.state_dir) == set()
        one.process.wait(15)
        process = read_process(one.state_dir)
        assert process is None or not alive(process.child)
        assert (process is None) is revoke_launch(one.state_dir)


def test_ending_an_agent_that_was_never_started_keeps_it_from_starting(
    request_for: Any, agent: str, tmp_path: Path
) -> None:
    request = request_for(tmp_path, "true")
    write_launch(request)

    async def scenario() -> set[Process]:
        return await end_agent(agent, request.state_dir)

    assert anyio.run(scenario) == set()
    assert not (request.state_dir / "launch.json").exists()
