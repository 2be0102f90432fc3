"""The whole demo, and that nothing of it is left however it ends."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from herdr.demo.ideas import IDEAS
from herdr.demo.stage import Stage, set_stage
from herdr.errors import HerdrError
from herdr.home import Home
from herdr.runtime.processes import MARK, mark

DEMO = (sys.executable, "-c", "from herdr.cli.main import herdr; herdr()", "demo")
# Makes the terminal the controlling one, so that Ctrl-C in it reaches the demo as a person's does.
CLAIM = """
import fcntl, os, sys, termios
fcntl.ioctl(1, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
INTERRUPTED = 130


class Demo:
    """A running demo, on a pseudo-terminal or on a pipe, and what it printed so far."""

    def __init__(self, folder: Path, *, terminal: bool) -> None:
        self.folder = folder
        self.text = ""
        self.ours, theirs = pty.openpty() if terminal else os.pipe()
        argv = [sys.executable, "-c", CLAIM, *DEMO] if terminal else [*DEMO]
        self.process = subprocess.Popen(
            [*argv, str(folder)],
            stdin=theirs if terminal else subprocess.DEVNULL, stdout=theirs, stderr=theirs,
            start_new_session=True, env={**os.environ, "COLUMNS": "80", "LINES": "24", "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(theirs)

    def until(self, done: Callable[[str], object], seconds: float = 60) -> None:
        """Read until what was printed satisfies `done`."""
        deadline = time.monotonic() + seconds
        while not done(self.text):
            assert time.monotonic() < deadline, self.text
            assert self._read(), self.text

    def ended(self) -> int:
        """Read to the end, and return the exit status."""
        while self._read():
            pass
        return self.process.wait(60)

    def _read(self) -> bool:
        """Read some more; False at the end."""
        if not select.select([self.ours], [], [], 0.1)[0]:
            return True
        try:
            data = os.read(self.ours, 65536)
        except OSError:
            return False
        self.text += data.decode(errors="replace")
        return bool(data)

    def left_running(self) -> list[psutil.Process]:
        """The processes that carry the folder in their environment or in their argv."""
        sign, found = str(self.folder), []
        for process in psutil.process_iter():
            try:
                if process.status() == psutil.STATUS_ZOMBIE or process.pid == os.getpid():
                    continue
                marks = [*process.cmdline(), *process.environ().values()]
            except psutil.Error:
                continue
            if any(sign in mark for mark in marks):
                found.append(process)
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.ours)
        for process in self.left_running():
            process.kill()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    started: list[Demo] = []

    def begin(*, terminal: bool = False) -> Demo:
        started.append(Demo(tmp_path / "demo", terminal=terminal))
        return started[-1]

    yield begin
    for demo in started:
        demo.close()


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.timeout(180)
def test_the_whole_demo(start: Callable[..., Demo], isolated: Path) -> None:
    demo = start()
    assert demo.ended() == 0, demo.text
    lines = demo.text.splitlines()
    promises = [line for line in lines if line.startswith(("✓", "✗"))]
    assert len(promises) == 2 + sum(idea.promise is not None for idea in IDEAS) + 2
    assert all(line.startswith("✓") for line in promises)
    for said in (
        "changed protected evaluate.py", "IndexError", "is worse than the bar's", "never really started (exited)",
        '$ piloop prompt worker#', "received it", "● keep", "what to type next",
    ):  # fmt: skip
        assert said in demo.text
    # One line per thing that happened, not one per look.
    assert len(lines) < 200
    assert "<svg" in (demo.folder / "metric.svg").read_text()
    branch = git(demo.folder / "tour", "branch", "--list", "herdr/tour/*", "--format=%(refname:short)")
    settings = git(demo.folder / "tour", "show", f"{branch}:tour/polish/kicks.py")
    assert "KICKS = 800" in settings
    assert git(demo.folder / "tour", "status", "--porcelain") == ""
    assert demo.left_running() == []
    assert (demo.folder / "daemon.out").read_text() == ""
    # The user's own home was not touched.
    assert not (isolated / ".piloop").exists()


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("a small campaign", signal.SIGINT),
        ("measuring", signal.SIGTERM),
        ("look at the agents", signal.SIGINT),
        ("worker#2 starts", signal.SIGHUP),
        ("worker#3 starts", signal.SIGINT),
    ],
)
def test_a_signal_at_any_moment_leaves_nothing_running(
    start: Callable[..., Demo], moment: str, number: int
) -> None:
    demo = start()
    demo.until(lambda text: moment in text)
    demo.process.send_signal(number)
    assert demo.ended() == INTERRUPTED, demo.text
    assert demo.left_running() == []
    assert (
        demo.text.splitlines()[-1] == f"stopped, and nothing of it runs any more; its files are in {demo.folder}"
    )


@pytest.mark.parametrize("moment", ["measuring", "worker#1"])
def test_ctrl_c_in_a_terminal(start: Callable[..., Demo], moment: str) -> None:
    demo = start(terminal=True)
    demo.until(lambda text: moment in text)
    os.write(demo.ours, b"\x03")
    assert demo.ended() == INTERRUPTED, demo.text
    assert demo.left_running() == []
    assert demo.text.count("\x1b[?1049h") == demo.text.count("\x1b[?1049l")


def test_even_kill_9_leaves_nothing_for_long(start: Callable[..., Demo]) -> None:
    demo = start()
    demo.until(lambda text: "worker#2 starts" in text)
    assert len(demo.left_running()) > 3
    # Such as an evaluation that the demo itself had begun, in a session of its own.
    marked = {**os.environ, MARK: mark(Home(root=demo.folder / "home", socket_name="x"), "init-1")}
    stray = subprocess.Popen(["sleep", "600"], env=marked, start_new_session=True)
    demo.process.kill()
    assert stray.wait(40) == -signal.SIGTERM
    deadline = time.monotonic() + 40
    while demo.left_running():
        assert time.monotonic() < deadline, demo.left_running()
        time.sleep(0.1)


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(HerdrError, match="is not empty"):
        set_stage(tmp_path, {})
    with pytest.raises(HerdrError, match="not a folder"):
        set_stage(tmp_path / "mine.txt" / "demo", {})


def test_the_stage_is_a_home_of_its_own(tmp_path: Path) -> None:
    outside = {"PILOOP_HOME": "/mine", "HERDR_AGENT": "x:1", "PILOOP_PROJECT_NAME": "mine", "PATH": "/bin"}
    stage = set_stage(tmp_path / "demo", outside)
    assert stage.environ == {"PATH": "/bin", "PILOOP_HOME": str(stage.folder / "home")}
    assert stage.home.root == stage.folder / "home"
    assert stage.home.socket_name != "herdr"
    other = set_stage(None, {})
    assert other != stage
    assert isinstance(other, Stage)
    other.folder.rmdir()
