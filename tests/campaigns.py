"""Campaigns for tests and benchmarks, used as a person uses one: register, `herdr up`, file ideas, wait, look.

`LiveCampaign` has a daemon that does the work. `RecordedCampaign` has none: the test writes what a daemon and its
agents would have written.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from herdr.config import read_config
from herdr.contract.words import CommentKind, TargetKind
from herdr.daemon.lock import KEEP_AGENTS, KILL_AGENTS
from herdr.home import Home
from herdr.ops.core import Context, Request, run
from herdr.runtime.processes import mark, snapshot
from herdr.setup import set_up
from herdr.store.connection import Store, open_store
from herdr.store.rows import (
    Agent,
    Candidate,
    Comment,
    Evaluator,
    Idea,
    Measurement,
    Message,
    Project,
    Run,
    find,
    get,
)

A = TypeVar("A")
T = TypeVar("T")
#: Seconds that a condition may take to come true on a machine that is busy with other work.
PATIENCE = 60.0
#: Seconds between two looks whether it has.
LOOK = 0.02
#: Seconds for a daemon to end.
STOP_LIMIT = 60.0


def wait_until(
    condition: Callable[[], T],
    what: str,
    seconds: float = PATIENCE,
    *,
    look: float = LOOK,
    process: subprocess.Popen[bytes] | None = None,
) -> T:
    """Look until a condition is true; its value.

    Args:
        condition: is called again and again.
        what: what is waited for, for the error.
        seconds: how long to wait at most.
        look: seconds between two calls.
        process: what is to bring it about; there is no use in waiting when it has ended.

    Raises:
        AssertionError: it did not become true in time, or the process has ended.
    """
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if process is not None and process.poll() is not None:
            raise AssertionError(f"the daemon has ended, waiting for: {what}")
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(look)
    return value


class Campaign:
    """A project in the home of this process, and what a person does with it.

    Args:
        root: its repo.
        signs: who changes are made by, where a row does not say it.
    """

    def __init__(self, root: Path, signs: str = "human") -> None:
        self.root = root
        self.home = Home.from_environ(os.environ)
        self._signs = signs

    @cached_property
    def store(self) -> Store:
        """A person's connection to the home's database."""
        return open_store(self.home.database, mode="person", actor=self._signs)

    @property
    def project(self) -> Project:
        """The project's row."""
        project = find(self.store, Project, "")
        assert project is not None
        return project

    def ask(self, request: Request[A], *, actor: str = "human", agent: Agent | None = None) -> A:
        """Ask for an operation.

        Args:
            request: what is asked for.
            actor: who asks.
            agent: the agent that asks, in place of `actor`.
        """
        return run(self.context(actor, agent), request)

    def context(self, actor: str = "human", agent: Agent | None = None) -> Context:
        """Who asks, from where; see `ask`."""
        actor = agent.name if agent is not None else actor
        return Context(conn=self.store, home=self.home, actor=actor, cwd=self.root, agent=agent)

    def idea(self, title: str = "Try it", **columns: Any) -> int:
        """File an idea; its id."""
        row: dict[str, Any] = {"project_id": self.project.id, "source": "human", "actor": "human"}
        return Idea.insert(self.store, **{**row, "title": title, **columns})

    def comment(
        self, target: tuple[TargetKind, int], body: str, *, kind: CommentKind = "note", actor: str = "human",
        **columns: Any,
    ) -> int:  # fmt: skip
        """Comment on a row; the comment's id."""
        on: dict[str, Any] = {"project_id": self.project.id, "target_kind": target[0], "target_id": target[1]}
        return Comment.insert(self.store, **{**on, "kind": kind, "body": body, "actor": actor, **columns})

    def prompt(self, agent_id: int, text: str) -> int:
        """Send an agent a text; the message's id."""
        return Message.insert(self.store, agent_id=agent_id, kind="prompt", body=text, actor="human")

    def rows(self, sql: str, *arguments: object) -> list[Any]:
        """Rows of the database."""
        return self.store.execute(sql, arguments).fetchall()

    def value(self, sql: str, *arguments: object) -> Any:
        """The first value of the first row, or None."""
        rows = self.rows(sql, *arguments)
        return rows[0][0] if rows else None

    def status(self, idea_id: int) -> str:
        """The status of an idea."""
        return str(self.value("SELECT status FROM ideas WHERE id = ?", idea_id))

    def run_of(self, idea_id: int) -> Run:
        """The latest run of an idea."""
        found = find(self.store, Run, "WHERE idea_id = ? ORDER BY id DESC", idea_id)
        assert found is not None
        return found

    def git(self, *words: str, cwd: Path | None = None) -> str:
        """Run git in the repo, or in one of its worktrees; what it printed."""
        done = subprocess.run(["git", *words], cwd=cwd or self.root, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def close(self) -> None:
        """Close the database, if it was opened."""
        if "store" in vars(self):
            self.store.close()


class LiveCampaign(Campaign):
    """A registered project and its daemon."""

    #: See `wait_until`.
    patience: ClassVar[float] = PATIENCE
    look: ClassVar[float] = LOOK
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> Path:
        """What the daemon prints, normally nothing."""
        return self.root.parent / "daemon.out"

    def register(self) -> None:
        """What `herdr init` does."""
        set_up(self.home, self.root, os.environ, actor="human", tell=lambda _: None)

    def up(self, *command: str, **environ: str) -> subprocess.Popen[bytes]:
        """What `herdr up` does: start the daemon, or a `command` that is one."""
        argv = command or (sys.executable, "-m", "herdr.daemon")
        with self.output.open("ab") as out:
            self.daemon = subprocess.Popen(
                argv, env={**os.environ, **environ}, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        return self.daemon

    def down(self, how: int = KEEP_AGENTS) -> None:
        """What `herdr down` does; `how` is the signal that says what becomes of the agents."""
        if self.daemon is not None:
            self.daemon.send_signal(how)
            assert self.daemon.wait(STOP_LIMIT) == 0, self.output.read_text()
            self.daemon = None

    def kill(self) -> None:
        """`kill -9` of the daemon."""
        assert self.daemon is not None
        self.daemon.kill()
        self.daemon.wait()
        self.daemon = None

    def wait(self, sql: str, *arguments: object, seconds: float | None = None) -> Any:
        """Wait until a query gives a value that is true; that value."""
        return wait_until(
            lambda: self.value(sql, *arguments), sql, seconds=seconds or self.patience, look=self.look,
            process=self.daemon,
        )  # fmt: skip

    def settled(self, count: int = 1, seconds: float | None = None) -> None:
        """Wait until so many runs are settled."""
        self.wait("SELECT count(*) >= ? FROM runs WHERE settled_at IS NOT NULL", count, seconds=seconds)

    def tmux(self, *words: str, check: bool = True) -> str:
        """Run a command of the home's tmux server; what it printed."""
        argv = ["tmux", "-L", self.home.socket_name, *words]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        """End all that was started here: the daemon, its agents, the tmux server, and what else is left."""
        try:
            self.down(KILL_AGENTS)
        finally:
            if self.daemon is not None:
                self.kill()
            self.tmux("kill-server", check=False)
            super().close()
            ours = mark(self.home, "")
            for one in snapshot().found.values():
                if one.mark.startswith(ours):
                    with suppress(ProcessLookupError):
                        os.kill(one.process.pid, signal.SIGKILL)


class RecordedCampaign(Campaign):
    """A project without a daemon; candidate 1 is its baseline and head, and a smaller `size` is better."""

    def register(self, *, commit: str = "0" * 40, tree: str = "0" * 40, **columns: Any) -> None:
        """Write what `herdr init` writes, without waiting for a real baseline.

        Args:
            commit: the baseline's.
            tree: the baseline's.
            columns: more of the baseline's row.
        """
        self.home.ensure()
        store, config = self.store, read_config(self.root, {}).to_json().decode()
        Project.insert(store, name="tiny", path=str(self.root), config=config, actor="human")
        Evaluator.insert(store, project_id=1, key="key", commit_sha=commit, definition="{}", actor="human")
        row: dict[str, Any] = {"subject": "first", "origin": "baseline", "verdict": "keep", "actor": "human"}
        Candidate.insert(store, project_id=1, commit_sha=commit, tree_sha=tree, **{**row, **columns})
        self.score(1, 8)
        Project.update(store, 1, evaluator_id=1, head_id=1, actor="human")

    def run(self, idea: int, **columns: Any) -> int:
        """A run of an idea, at work; its id."""
        number = self.value("SELECT count(*) + 1 FROM runs WHERE idea_id = ?", idea)
        row: dict[str, Any] = {"base_id": 1, "harness": "fake", "state": "running", "actor": "daemon"}
        return Run.insert(self.store, project_id=1, idea_id=idea, number=number, **{**row, **columns})

    def agent(self, run: int | None, **columns: Any) -> Agent:
        """A busy agent of a run, or of none."""
        row: dict[str, Any] = {"session_id": "s", "token_hash": "h", "state": "busy", "actor": "daemon"}
        number = Agent.insert(self.store, project_id=1, run_id=run, harness="fake", **{**row, **columns})
        return get(self.store, Agent, number)

    def candidate(self, run: int, size: float | None, verdict: str | None = None, **columns: Any) -> int:
        """A candidate of a run with its score; its id.

        Args:
            run: the run's id.
            size: its score; None where it could not be measured.
            verdict: what was decided, or None.
            columns: more of its row.
        """
        number = self.value("SELECT count(*) FROM candidates")
        row: dict[str, Any] = {"run_id": run, "parent_id": 1, "bar_id": 1, "origin": "run", "verdict": verdict}
        row |= {"tree_sha": f"{number:040x}", "commit_sha": f"{number:040x}", "subject": "smaller"}
        candidate = Candidate.insert(self.store, project_id=1, **{**row, "actor": "daemon", **columns})
        self.score(candidate, size)
        return candidate

    def score(self, candidate: int, size: float | None) -> None:
        """Score a candidate."""
        metrics = "{}" if size is None else f'{{"size": {size}}}'
        Measurement.insert(
            self.store, candidate_id=candidate, evaluator_id=1, state="done", metrics=metrics, actor="daemon"
        )

    def set(self, kind: type[Any], row: int, **columns: Any) -> None:
        """Change a row as the daemon would."""
        kind.update(self.store, row, **columns, actor="daemon")
