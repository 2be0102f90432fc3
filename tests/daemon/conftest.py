"""A small campaign for tests: a repo whose score is the number in a file, and a real daemon."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from herdr.contract.words import CommentKind, TargetKind
from herdr.home import Home
from herdr.ops.core import A, Context, Request, run
from herdr.setup import set_up
from herdr.store.connection import Store, open_store
from herdr.store.rows import Comment, Idea, Message, Project, Run, find

WORKER = Path(__file__).with_name("worker.py")
EVALUATE = """\
from pathlib import Path

text = Path("number.txt").read_text().strip()
print(f"METRIC score={float(text)}")
print(f"METRIC cost={len(list(Path('.').glob('*.extra')))}")
"""
CONFIG = """\
name = "numbers"
runtime = "herdr"
evaluate = [{python}, "evaluate.py"]
harnesses = ["scripted"]
{top}

[[metrics]]
name = "score"
direction = "higher"
role = "primary"

[[metrics]]
name = "cost"
direction = "lower"
role = "guardrail"
margin = 1

[roles.worker]
max_concurrent = {slots}
timeout = {timeout}

[roles.research]
triggers = {research}

[roles.watchdog]
interval = 0
triggers = {watchdog}
{roles}
[harness.scripted]
interactive = [{python}, {worker}, "{{brief}}"]
received = "received: {{text}}"
env = {{ WORKER_LOG = {log} }}
{harness}
"""

Condition = Callable[[], Any]

#: Seconds that a condition may take to come true, and a test to end, on a machine that is busy with others.
PATIENCE, LIMIT = 60.0, 120.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT))


def wait_until(condition: Condition, what: str, seconds: float = PATIENCE) -> Any:
    """Poll a condition until it is true; its value."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:g} s: {what}")


class Campaign:
    """A registered project and its daemon, driven as a person would drive it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = Home.from_environ(os.environ)
        self.log = root.parent / "worker.log"
        self._store: Store | None = None
        self._daemon: subprocess.Popen[bytes] | None = None

    # --- setting up

    def configure(
        self,
        *,
        slots: int = 2,
        timeout: float = 60,
        research: Sequence[str] = (),
        watchdog: Sequence[str] = (),
        top: str = "",
        roles: str = "",
        harness: str = "",
        more: str = "",
    ) -> None:
        quoted = {"python": sys.executable, "worker": str(WORKER), "log": str(self.log)}
        words = {name: json.dumps(value) for name, value in quoted.items()}
        triggers = {"research": json.dumps(research), "watchdog": json.dumps(watchdog)}
        texts = {"top": top, "roles": roles, "harness": harness}
        text = CONFIG.format(slots=slots, timeout=timeout, **texts, **triggers, **words)
        (self.root / "piloop.toml").write_text(text + more)

    def register(self) -> None:
        set_up(self.home, self.root, os.environ, actor="human", tell=lambda _: None)

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = open_store(self.home.database, mode="person", actor="human")
        return self._store

    def idea(self, title: str, *do: str, **more: Any) -> int:
        project = find(self.store, Project, "")
        assert project is not None
        plan = "\n".join(f"DO {line}" for line in do)
        values: dict[str, Any] = {
            "project_id": project.id,
            "title": title,
            "plan": plan,
            "source": "human",
            "actor": "human",
        }
        return Idea.insert(self.store, **{**values, **more})

    def comment(
        self, target: tuple[TargetKind, int], body: str, *, kind: CommentKind = "note", actor: str = "human"
    ) -> int:
        kind_of, target_id = target
        return Comment.insert(
            self.store, project_id=1, target_kind=kind_of, target_id=target_id, kind=kind, body=body, actor=actor
        )

    def prompt(self, agent_id: int, text: str) -> int:
        return Message.insert(self.store, agent_id=agent_id, kind="prompt", body=text, actor="human")

    # --- the daemon

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        with (self.root.parent / "daemon.out").open("ab") as out:
            self._daemon = subprocess.Popen(
                [sys.executable, "-m", "herdr.daemon"], env={**os.environ, **env}, stdout=out, stderr=out
            )
        return self._daemon

    def kill(self) -> None:
        """`kill -9` of the daemon."""
        assert self._daemon is not None
        self._daemon.kill()
        self._daemon.wait()
        self._daemon = None

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self._daemon is not None:
            self._daemon.send_signal(how)
            assert self._daemon.wait(60) == 0, (self.root.parent / "daemon.out").read_text()
            self._daemon = None

    def close(self) -> None:
        if self._daemon is not None:
            self.stop(signal.SIGUSR2)
        if self._store is not None:
            self._store.close()
        self.tmux("kill-server", check=False)

    def tmux(self, *args: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.home.socket_name, *args], capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def git(self, *args: str) -> None:
        subprocess.run(["git", *args], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

    # --- looking

    def rows(self, sql: str, *args: object) -> list[Any]:
        return self.store.execute(sql, args).fetchall()

    def value(self, sql: str, *args: object) -> Any:
        rows = self.rows(sql, *args)
        return rows[0][0] if rows else None

    def settled(self, count: int = 1, seconds: float = PATIENCE) -> None:
        sql = "SELECT count(*) FROM runs WHERE settled_at IS NOT NULL"
        wait_until(lambda: self.value(sql) >= count, f"{count} settled runs", seconds)

    def wait(self, sql: str, *args: object, seconds: float = PATIENCE) -> Any:
        return wait_until(lambda: self.value(sql, *args), sql, seconds)

    def said(self) -> list[str]:
        """What the workers wrote into their log."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def verdicts(self) -> list[tuple[str, str | None, str | None]]:
        sql = "SELECT subject, verdict, rule FROM candidates WHERE origin <> 'baseline' ORDER BY id"
        return [tuple(row) for row in self.rows(sql)]

    def run_of(self, idea_id: int) -> Run:
        run = find(self.store, Run, "WHERE idea_id = ? ORDER BY id DESC", idea_id)
        assert run is not None
        return run

    def status(self, idea_id: int) -> str:
        return str(self.value("SELECT status FROM ideas WHERE id = ?", idea_id))

    def ask(self, request: Request[A]) -> A:
        """Ask for an operation as a person does."""
        context = Context(conn=self.store, home=self.home, actor="human", cwd=self.root)
        return run(context, request)

    def set_project(self, **values: Any) -> None:
        Project.update(self.store, 1, **{**values, "actor": "human"})

    def cancel(self, run_id: int) -> None:
        Run.update(self.store, run_id, cancel_requested=True, actor="human")


def install_plugin(folder: Path, code: str) -> dict[str, str]:
    """Install a plugin as a distribution of its own beside herdr; the environment that makes a daemon find it."""
    info = folder / "test_plugin-1.dist-info"
    info.mkdir(parents=True)
    (folder / "test_plugin.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: test-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[herdr]\ntest = test_plugin\n")
    return {"PYTHONPATH": str(folder)}


@pytest.fixture
def unregistered(make_repo: Callable[..., Path]) -> Iterator[Campaign]:
    campaign = Campaign(make_repo({"number.txt": "1\n", "evaluate.py": EVALUATE}))
    campaign.configure()
    yield campaign
    campaign.close()


@pytest.fixture
def campaign(unregistered: Campaign) -> Campaign:
    unregistered.register()
    return unregistered
