"""A registered project with a real repo, and rows as the daemon would write them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from herdr.config import read_config
from herdr.home import Home
from herdr.ops.core import A, Context, Request, run
from herdr.store.connection import Store, open_store
from herdr.store.rows import Agent, Candidate, Evaluator, Idea, Measurement, Project, Run, get
from herdr.tokens import token_hash

TOML = """
name = "tiny"
runtime = "herdr"
evaluate = ["sh", "evaluate.sh"]
harnesses = ["fake"]
[[metrics]]
name = "size"
direction = "lower"
role = "primary"
[harness.fake]
interactive = ["sh", "-c", "exit"]
"""
FILES = {"piloop.toml": TOML, "evaluate.sh": 'echo "METRIC size=$(cat size)"\n', "size": "8\n"}
TOKEN = "the token"


class Campaign:
    """The project, and what the tests let happen in it."""

    def __init__(self, home: Home, root: Path, store: Store) -> None:
        self.home, self.root, self.store = home, root, store

    def idea(self, title: str = "Try it", **values: Any) -> int:
        row: dict[str, Any] = {"project_id": 1, "title": title, "source": "human", "actor": "human", **values}
        return Idea.insert(self.store, **row)

    def run(self, idea: int, **values: Any) -> int:
        number = self.store.execute("SELECT count(*) + 1 FROM runs WHERE idea_id = ?", (idea,)).fetchone()[0]
        row: dict[str, Any] = {
            "project_id": 1,
            "idea_id": idea,
            "number": number,
            "base_id": 1,
            "harness": "fake",
        }
        return Run.insert(self.store, **{**row, "state": "running", "actor": "daemon", **values})

    def agent(self, run: int | None, **values: Any) -> Agent:
        row: dict[str, Any] = {
            "project_id": 1,
            "run_id": run,
            "harness": "fake",
            "session_id": "s",
            "state": "busy",
        }
        row |= {"token_hash": token_hash(TOKEN), "actor": "daemon", **values}
        return get(self.store, Agent, Agent.insert(self.store, **row))

    def candidate(self, run: int, commit: str, size: float, **values: Any) -> int:
        row: dict[str, Any] = {
            "project_id": 1,
            "run_id": run,
            "parent_id": 1,
            "tree_sha": commit[::-1],
            "commit_sha": commit,
        }
        row |= {"subject": "smaller", "origin": "run", "bar_id": 1, "actor": "daemon", **values}
        candidate = Candidate.insert(self.store, **row)
        self.store.execute(
            "INSERT INTO run_commits (run_id, position, commit_sha, candidate_id) VALUES (?, ?, ?, ?)",
            (run, candidate, commit, candidate),
        )
        score: dict[str, Any] = {
            "candidate_id": candidate,
            "evaluator_id": 1,
            "state": "done",
            "metrics": f'{{"size": {size}}}',
        }
        Measurement.insert(self.store, **{**score, "actor": "daemon"})
        return candidate

    def set(self, kind: type[Any], row: int, **values: Any) -> None:
        kind.update(self.store, row, **values, actor="daemon")

    def as_human(self, request: Request[A]) -> A:
        return run(Context(conn=self.store, home=self.home, actor="human", cwd=self.root), request)

    def as_orchestrator(self, request: Request[A]) -> A:
        return run(Context(conn=self.store, home=self.home, actor="orchestrator", cwd=self.root), request)

    def as_agent(self, agent: Agent, request: Request[A]) -> A:
        return run(self.context_of(agent), request)

    def context_of(self, agent: Agent) -> Context:
        return Context(conn=self.store, home=self.home, actor=agent.name, cwd=self.root, agent=agent)


@pytest.fixture
def campaign(make_repo: Callable[..., Path]) -> Iterator[Campaign]:
    home = Home.from_environ(os.environ).ensure()
    root = make_repo(FILES)
    store = open_store(home.database, mode="person", actor="human")
    _register(store, root)
    yield Campaign(home, root, store)
    store.close()


def _register(store: Store, root: Path) -> None:
    """What `herdr init` writes, without waiting for a real baseline."""
    commit, tree = _git(root, "rev-parse", "HEAD"), _git(root, "rev-parse", "HEAD^{tree}")
    config = read_config(root, {}).to_json().decode()
    Project.insert(store, name="tiny", path=str(root), config=config, actor="human")
    Evaluator.insert(store, project_id=1, key="key", commit_sha=commit, definition="{}", actor="human")
    Candidate.insert(
        store,
        project_id=1,
        tree_sha=tree,
        commit_sha=commit,
        subject="first",
        origin="baseline",
        verdict="keep",
        actor="human",
    )
    Measurement.insert(
        store, candidate_id=1, evaluator_id=1, state="done", metrics='{"size": 8.0}', actor="human"
    )
    Project.update(store, 1, evaluator_id=1, head_id=1, actor="human")


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout.strip()
