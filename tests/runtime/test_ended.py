"""Ended means ended: whatever an agent, or a command, starts and however that gets away from it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from herdr.runtime import cgroup, guard, wrapper
from herdr.runtime.api import Process
from herdr.runtime.command import run_marked
from herdr.runtime.ending import end_agent
from herdr.runtime.kernel import LINUX, start_time
from herdr.runtime.launchfile import read_exit
from herdr.runtime.processes import MARK, alive

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(not LINUX, reason="only Linux lets a process adopt orphans")]
NO_GROUP = "the user has no control group to give here"

#: Begins what each test's harness or command runs: `away` starts code with nothing of ours, in a session of its
#: own, its files closed, and hands it to init; `WORD` is in its argv.
BEGIN = """
import os, signal, sys, time
def away(code, **env):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            os.execve(sys.executable, [sys.executable, "-c", code, WORD], env)
        os._exit(0)
    os.wait()
DEAF = "import signal, time; [signal.signal(number, signal.SIG_IGN) for number in (1, 2, 15)]; "
SLEEP = "import time; time.sleep(300)"
"""
#: What gets away, each in words of its own.
ESCAPES = {
    "double fork, session, empty environment, no files": "away(SLEEP)",
    "deaf to requests": "away(DEAF + 'time.sleep(300)')",
    "another agent's mark": "away(SLEEP, HERDR_AGENT='/another/home:2')",
    "stopped": "away('import os; os.kill(os.getpid(), 19); ' + SLEEP)",
    "its first thread has ended": "away('import ctypes, threading, time; threading.Thread(target=time.sleep, "
    "args=(300,)).start(); ctypes.CDLL(None).syscall(60, 0)')",
    "200 descendants": "[away(SLEEP) for _ in range(200)]",
    "one that starts itself anew": "away('''import os, time\nfor _ in range(20000):\n  if os.fork(): os._exit(0)"
    "\n  os.setsid(); time.sleep(0.001)''')",
    "fifty that fork on while they are killed": "away('''import os, signal, time\nfor number in (15, 1, 17): "
    "signal.signal(number, signal.SIG_IGN)\nfor _ in range(5): os.fork()\nend = time.time() + 300"
    "\nwhile time.time() < end:\n  if os.fork() == 0 and os.fork(): os._exit(0)\n  time.sleep(0.05)\n  "
    "if sum(1 for one in os.listdir('/proc') if one.isdigit()) > LIMIT: time.sleep(0.2); os._exit(0)'''"
    ".replace('LIMIT', str(50 + sum(1 for one in os.listdir('/proc') if one.isdigit()))))",
}

Run = Callable[..., Coroutine[Any, Any, "int | None"]]


@pytest.fixture
def word(tmp_path: Path) -> Iterator[str]:
    """Is in the argv of all that a test starts; whatever is left at its end is ended."""
    word = f"left-by-{tmp_path.name}-{os.getpid()}"
    yield word
    for pid in left(word):
        os.kill(pid, signal.SIGKILL)


@pytest.fixture
def agent(word: str) -> str:
    """The mark."""
    return f"/home/of/tests:{word}"


def left(word: str) -> list[int]:
    """The processes that have it as their last argument."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words[-2:]:
                found.append(int(entry.name))
    return found


def code(word: str, *lines: str) -> tuple[str, ...]:
    text = "\n".join((f"WORD = {word!r}", BEGIN, *lines))
    return (sys.executable, "-c", text, word)


@pytest.fixture(params=["group", "no group"])
def group(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether there is a control group: what each test says holds with and without one."""
    if request.param == "group" and cgroup.our_group() is None:
        pytest.skip(NO_GROUP)
    if request.param == "no group":
        for module in ("launchfile", "command"):
            monkeypatch.setattr(f"herdr.runtime.{module}.group_for", lambda _mark: None)
    return bool(request.param == "group")


@pytest.fixture
def launch(start: Any, request_for: Any, tmp_path: Path, word: str, agent: str) -> Callable[..., Any]:
    def begin(*lines: str) -> Any:
        env = {"PATH": os.environ["PATH"], MARK: agent}
        return start(request_for(tmp_path, *code(word, *lines), env=env))

    return begin


def no_group_is_left(agent: str) -> bool:
    group = cgroup.group_for(agent)
    return group is None or not Path(group).exists()


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_outlives_an_agent_that_ends(
    launch: Any, word: str, agent: str, group: Any, escape: Any
) -> None:
    one = launch("signal.signal(signal.SIGHUP, signal.SIG_IGN)", escape, "time.sleep(0.3)")
    exit_ = one.exit()
    assert (exit_.status, left(word)) == (0, [])
    assert exit_.left, "what had to be ended is named"
    assert no_group_is_left(agent)


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_outlives_an_agent_that_is_ended(
    launch: Any, word: str, agent: str, group: Any, escape: Any
) -> None:
    one = launch(escape, "print('up', flush=True)", "time.sleep(300)")
    one.shows(b"up")
    assert await end_agent(agent, one.state_dir, grace=0.3) == set()
    assert left(word) == []
    assert one.exit().signal is not None
    assert no_group_is_left(agent)


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_outlives_a_command_that_ends(
    run: Run, word: str, agent: str, group: Any, escape: Any
) -> None:
    assert await run(*code(word, escape, "sys.exit(3)")) == 3
    assert left(word) == []
    assert no_group_is_left(agent)


@pytest.mark.parametrize("escape", ESCAPES.values(), ids=ESCAPES.keys())
async def test_nothing_outlives_a_command_that_is_given_up(
    run: Run, tmp_path: Path, word: str, agent: str, group: Any, escape: Any
) -> None:
    started = tmp_path / "started"
    lines = (escape, f"open({str(started)!r}, 'w').close()", "time.sleep(300)")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, *code(word, *lines))
        with anyio.fail_after(30):
            while not started.exists():
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert left(word) == []
    assert no_group_is_left(agent)


async def test_a_command_that_is_too_slow_is_ended(run: Run, word: str) -> None:
    assert await run(*code(word, "away(SLEEP)", "time.sleep(300)"), timeout=2) is None
    assert left(word) == []


@pytest.fixture
def run(tmp_path: Path, agent: str) -> Run:
    async def begin(*argv: str, timeout: float = 60) -> int | None:
        with (tmp_path / "out").open("wb") as out:
            env = {"PATH": os.environ["PATH"]}
            return await run_marked(
                argv, cwd=tmp_path, env=env, mark=agent, timeout=timeout, stdout=out, stderr=out
            )

    return begin


@pytest.mark.parametrize("killed", ["wrapper", "guard"])
async def test_what_has_lost_what_was_above_it_is_ended_by_its_group(
    launch: Any, run: Run, word: str, agent: str, killed: Any, wait_for: Any
) -> None:
    if cgroup.our_group() is None:
        pytest.skip(NO_GROUP)
    kill = "away(DEAF + 'time.sleep(300)'); os.kill(os.getppid(), 9); time.sleep(1)"
    if killed == "guard":
        assert await run(*code(word, kill)) == -signal.SIGKILL
    else:
        one = launch(kill)
        wrapper = one.agent().wrapper
        wait_for(lambda: not alive(wrapper))
        assert read_exit(one.state_dir) is None
        assert await end_agent(agent, one.state_dir, grace=0.1) == set()
    assert left(word) == []
    assert no_group_is_left(agent)


async def test_a_wrapper_that_was_stopped_does_not_stay(
    launch: Any, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("herdr.runtime.ending.WRAPPER_LIMIT", 0.5)
    one = launch("print('up', flush=True)", "time.sleep(300)")
    one.shows(b"up")
    wrapper = one.agent().wrapper
    os.kill(wrapper.pid, signal.SIGSTOP)
    assert await end_agent(agent, one.state_dir, grace=0) == set()
    assert not alive(wrapper)


async def test_what_the_user_runs_beside_it_is_left_alone(
    launch: Any, run: Run, tmp_path: Path, word: str, agent: str, group: Any
) -> None:
    """A shell in the same folder, in no way herdr's."""
    with subprocess.Popen(["sleep", "300"], cwd=tmp_path, start_new_session=True) as bystander:
        one = launch("away(SLEEP)", "print('up', flush=True)", "time.sleep(300)")
        one.shows(b"up")
        await end_agent(agent, one.state_dir, grace=0.3)
        assert await run(*code(word, "away(SLEEP)")) == 0
        assert bystander.poll() is None
        bystander.kill()


async def test_the_end_of_what_an_agent_runs_is_taken_in_while_it_runs(launch: Any, agent: str) -> None:
    """Orphans become the wrapper's children: as zombies they would fill the table of processes."""
    one = launch(
        "[away('pass') for _ in range(20)]", "time.sleep(1)", "print('up', flush=True)", "time.sleep(300)"
    )
    one.shows(b"up")
    assert zombies(one.agent().wrapper.pid) == []
    await end_agent(agent, one.state_dir, grace=0)


def zombies(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields[0] == b"Z" and int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


# --- commands ------------------------------------------------------------------------------------------------


async def test_how_a_command_ended(run: Run, tmp_path: Path) -> None:
    assert await run(*("sh", "-c", "exit 7")) == 7
    assert await run(*("sh", "-c", "kill -SEGV $$")) == -signal.SIGSEGV
    with pytest.raises(FileNotFoundError):
        await run(*("no-such-program-anywhere",))
    (tmp_path / "text").write_text("no program")
    with pytest.raises(PermissionError):
        await run(*(str(tmp_path / "text"),))


async def test_a_command_cannot_tell_that_it_is_guarded(run: Run, tmp_path: Path) -> None:
    """It leads its session, has no descriptors but three, and Python's ignored signals are as they were."""
    told = (
        "import os, signal; print(os.getsid(0) == os.getpid(), sorted(map(int, os.listdir('/proc/self/fd')))[:4],"
    )
    told += " signal.getsignal(signal.SIGXFSZ) == signal.SIG_IGN)"
    assert await run(*(sys.executable, "-c", told)) == 0
    assert (tmp_path / "out").read_text() == "True [0, 1, 2, 3] True\n"
    assert await run(*("sh", "-c", "grep SigIgn /proc/self/status")) == 0
    # What we were started with ignored stays ignored (a shell's background job); what Python ignores does not.
    python = sum(1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGXFSZ))
    own = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("SigIgn"))
    assert int((tmp_path / "out").read_text().split()[1], 16) == int(own.split()[1], 16) & ~python


async def test_a_command_whose_daemon_was_killed_is_ended(
    tmp_path: Path, word: str, agent: str, wait_for: Any
) -> None:
    argv = code(word, "away(DEAF + 'time.sleep(300)')", "print('up', flush=True); time.sleep(300)")
    daemon = f"""
import anyio, pathlib, sys
sys.path[:0] = {sys.path!r}
from herdr.runtime.command import run_marked
async def main():
    with open({str(tmp_path / "out")!r}, "wb") as out:
        await run_marked({argv!r},
            cwd=pathlib.Path({str(tmp_path)!r}), env={{}}, mark={agent!r}, timeout=100, stdout=out)
anyio.run(main)
"""
    with subprocess.Popen([sys.executable, "-c", daemon]) as one:
        wait_for(lambda: (tmp_path / "out").exists() and b"up" in (tmp_path / "out").read_bytes())
        assert left(word)
        one.kill()
    wait_for(lambda: not left(word))


# --- what the kernel tells ------------------------------------------------------------------------------------


def test_one_whose_first_thread_has_ended_is_alive(wait_for: Any) -> None:
    code = "import ctypes, threading, time; threading.Thread(target=time.sleep, args=(300,)).start(); "
    with subprocess.Popen([sys.executable, "-c", code + "ctypes.CDLL(None).syscall(60, 0)"]) as one:
        stat = Path(f"/proc/{one.pid}/stat")
        wait_for(lambda: stat.read_bytes().rpartition(b")")[2].split()[0] == b"Z")
        started = start_time(one.pid)
        assert started is not None
        assert alive(Process(pid=one.pid, started=started))
        one.kill()
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        assert start_time(one.pid) is None


@pytest.mark.parametrize("program", [wrapper, guard])
def test_what_agents_are_started_by_imports_little(tmp_path: Path, program: Any) -> None:
    """Python itself takes some 10 ms to start; each of these would take as much again."""
    argv = [sys.executable, "-I", "-S", "-X", "utf8", "-X", "importtime", program.__file__]
    options = ["--report", "1", "-", "true"] if program is guard else ["--agent", "1", "--dir", str(tmp_path)]
    done = subprocess.run([*argv, *options], check=False, capture_output=True, text=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "herdr.runtime.subreaper" in imported
    assert not imported & {"typing", "pathlib", "msgspec", "hashlib", "subprocess", "asyncio", "anyio", "site"}
