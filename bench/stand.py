"""The stand that everything is measured on: a small project, its home, its tmux socket and its daemon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from herdr.home import Home
from herdr.runtime.processes import snapshot
from herdr.setup import set_up
from herdr.store.connection import Store, open_store, transaction
from herdr.store.rows import Comment, Idea, Project, find

T = TypeVar("T")
#: A table of `[harness.<name>]`.
Harness = Mapping[str, object]

FILES = {
    "evaluate.sh": 'echo "METRIC score=1"\n',
    "note.txt": "nothing yet\n",
    "README.md": "A project that costs next to nothing, so that what is measured is herdr.\n",
}
CONFIG = """\
name = "bench"
runtime = "herdr"
evaluate = ["sh", "evaluate.sh"]
harnesses = {harnesses}

[[metrics]]
name = "score"
direction = "higher"
role = "primary"

[roles.worker]
max_concurrent = {slots}
timeout = 3600

[roles.research]
triggers = []

[roles.watchdog]
triggers = []
"""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ")
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Bench"), ("EMAIL", "bench@example.com"))
}
#: Seconds for whatever must come to happen, and between looks whether it has.
PATIENCE, LOOK = 120.0, 0.005
#: Seconds for the daemon to stop, before it is killed.
STOP_LIMIT = 30.0


class Stand:
    """A registered project in a home of its own, with the daemon once it is started."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "repo"
        self.home = Home.from_environ(os.environ)
        self._daemon: subprocess.Popen[bytes] | None = None

    @cached_property
    def store(self) -> Store:
        """A person's connection to the home's database."""
        return open_store(self.home.database, mode="person", actor="human")

    def register(self, harnesses: Mapping[str, Harness], slots: int) -> None:
        """Make the repo and its piloop.toml, and register it as `herdr init` does.

        Args:
            harnesses: the tables of `[harness.<name>]`, by name.
            slots: how many workers may run at once.
        """
        self.root.mkdir()
        for name, text in FILES.items():
            (self.root / name).write_text(text)
        text = CONFIG.format(harnesses=json.dumps(list(harnesses)), slots=slots)
        for name, keys in harnesses.items():
            text += f"\n[harness.{name}]\n" + "".join(f"{key} = {json.dumps(keys[key])}\n" for key in keys)
        (self.root / "piloop.toml").write_text(text)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        set_up(self.home, self.root, os.environ, actor="human", tell=lambda _: None)

    def git(self, *words: str, cwd: Path | None = None) -> None:
        """Run git in the repo, or in one of its worktrees."""
        subprocess.run(["git", *words], cwd=cwd or self.root, check=True, capture_output=True)

    def add_ideas(self, count: int) -> float:
        """Add ready ideas in one transaction; when it was committed, in seconds since the epoch."""
        project = self.project
        with transaction(self.store) as store:
            known = store.execute("SELECT count(*) FROM ideas").fetchone()[0]
            for number in range(known, known + count):
                Idea.insert(store, project_id=project.id, title=f"idea {number}", source="human", actor="human")
        return time.time()

    def add_comment(self, run_id: int, body: str) -> tuple[int, float]:
        """Comment on a run; the comment's id, and when it was committed.

        Args:
            run_id: the id of the run's row.
            body: what is said.
        """
        comment_id = Comment.insert(
            self.store,
            project_id=self.project.id,
            target_kind="run",
            target_id=run_id,
            kind="note",
            body=body,
            actor="human",
        )
        return comment_id, time.time()

    @property
    def project(self) -> Project:
        """The project's row."""
        project = find(self.store, Project, "")
        assert project is not None
        return project

    # --- the daemon

    def start(self, *command: str) -> int:
        """Start the daemon, or a `command` that is one, and return its pid once it takes ideas."""
        with (self.home.root / "daemon.out").open("ab") as out:
            self._daemon = subprocess.Popen(
                command or (sys.executable, "-m", "herdr.daemon"),
                cwd=Path(__file__).parent.parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )
        self.wait("SELECT 1 FROM events WHERE kind = 'daemon.started'")
        until(lambda: self.tmux_server() is not None, "the daemon opens its tmux session")
        return self._daemon.pid

    def tmux_server(self) -> int | None:
        """The pid of the stand's tmux server, or None while there is none."""
        answer = self._tmux("display-message", "-p", "#{pid}")
        return int(answer) if answer else None

    def rows(self, sql: str, *args: object) -> Sequence[Any]:
        """Rows of the database."""
        return self.store.execute(sql, args).fetchall()

    def value(self, sql: str, *args: object) -> Any:
        """The first value of the first row, or None."""
        rows = self.rows(sql, *args)
        return rows[0][0] if rows else None

    def wait(self, sql: str, *args: object) -> Any:
        """Wait until a query gives a value that is true; that value."""
        return until(lambda: self.value(sql, *args), sql, self._daemon)

    # --- the end

    def close(self) -> None:
        """End all that was started here: the daemon, the tmux server with its agents, and what is left."""
        if self._daemon is not None:
            self._daemon.terminate()
            try:
                self._daemon.wait(STOP_LIMIT)
            except subprocess.TimeoutExpired:
                self._daemon.kill()
                self._daemon.wait()
        if self.tmux_server() is not None:
            self._tmux("kill-server")
        if "store" in vars(self):
            self.store.close()
        ours = f"{self.home.root.resolve()}:"
        for one in snapshot().found.values():
            if one.mark.startswith(ours):
                with suppress(ProcessLookupError):
                    os.kill(one.process.pid, signal.SIGKILL)

    def _tmux(self, *words: str) -> str:
        command = ["tmux", "-L", self.home.socket_name, *words]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


@contextmanager
def stand(harnesses: Mapping[str, Harness], *, slots: int = 1) -> Iterator[Stand]:
    """A stand with these harnesses, which get the runs in turn; nothing of it is left afterwards.

    Args:
        harnesses: the tables of `[harness.<name>]`, by name.
        slots: how many workers may run at once.

    The process has the stand's environment meanwhile: its HOME, its PILOOP_HOME and its tmux sockets.
    """
    # A socket's path may hold only about 100 bytes.
    folder = Path(tempfile.mkdtemp(prefix="hb-", dir="/tmp"))
    before = dict(os.environ)
    kept = {name: before[name] for name in PASSED_ON if name in before}
    os.environ.clear()
    os.environ.update(
        {
            **kept,
            **IDENTITY,
            "GIT_CONFIG_NOSYSTEM": "1",
            "HOME": str(folder),
            "PILOOP_HOME": str(folder / "home"),
            "TMUX_TMPDIR": str(folder),
        }
    )
    try:
        with closing(Stand(folder)) as made:
            made.register(harnesses, slots)
            yield made
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(folder, ignore_errors=True)


def until(condition: Callable[[], T], what: str, process: subprocess.Popen[bytes] | None = None) -> T:
    """Look until a condition is true; its value.

    Args:
        condition: is called again and again.
        what: what is waited for, for the error.
        process: the process that is to bring it about, if there is one.

    Raises:
        RuntimeError: it did not become true in time, or the process that was to bring it about has ended.
    """
    deadline = time.monotonic() + PATIENCE
    while not (value := condition()):
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"the daemon has ended, waiting for: {what}")
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {PATIENCE:g} s: {what}")
        time.sleep(LOOK)
    return value


def seconds_of(stamp: str) -> float:
    """A time of the store in seconds since the epoch."""
    from herdr.times import parse_timestamp

    return parse_timestamp(stamp).timestamp()
