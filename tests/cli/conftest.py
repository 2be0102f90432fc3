"""Commands run in this process, as a person types them, on a real store beside a real repo."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from herdr.cli.main import run
from herdr.home import Home
from herdr.setup import set_up
from herdr.store.connection import Store, open_store
from herdr.store.rows import Agent, Idea, Run

TOML = """
name = "tiny"
runtime = "herdr"
evaluate = ["sh", "evaluate.sh"]
harnesses = ["fake"]
[[metrics]]
name = "size"
direction = "lower"
role = "primary"
[roles.worker]
max_concurrent = 1
[roles.research]
max_ideas = 0
[roles.watchdog]
interval = 0
[harness.fake]
interactive = ["sh", "agent.sh"]
received = "received: {text}"
"""
AGENT = """
echo working
while read -r line; do
    echo "received: $line"
    case "$line" in *finish*) break ;; esac
done
piloop comment add run#1 --kind finding "the end" || exit 1
"""
FILES = {
    "piloop.toml": TOML,
    "evaluate.sh": 'echo "METRIC size=$(cat size)"\n',
    "size": "8\n",
    "agent.sh": AGENT,
}


class Typed(NamedTuple):
    """What came of a command line."""

    code: int
    out: str
    err: str


@pytest.fixture
def typed(capfd: pytest.CaptureFixture[str]) -> Callable[..., Typed]:
    """`typed("piloop", "idea", "list")` runs a command line where the test stands."""

    def type_it(program: str, *arguments: str) -> Typed:
        capfd.readouterr()
        code = run(program, arguments)
        return Typed(code, *capfd.readouterr())

    return type_it


@pytest.fixture
def piloop(typed: Callable[..., Typed]) -> Callable[..., str]:
    """A command of `piloop` that has to work; gives what it printed."""

    def type_it(*arguments: str) -> str:
        done = typed("piloop", *arguments)
        assert done.code == 0, done.err
        assert done.err == ""
        return done.out

    return type_it


@pytest.fixture
def root(make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repo with a piloop.toml, not registered yet; the test stands in it."""
    made = make_repo(FILES)
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def project(root: Path) -> Path:
    """The same, registered."""
    set_up(Home.from_environ(os.environ), root, os.environ, actor="human", tell=lambda _line: None)
    return root


@pytest.fixture
def store(project: Path) -> Iterator[Store]:
    """The project's store, to write what the daemon would."""
    opened = open_store(Home.from_environ(os.environ).database, mode="person", actor="daemon")
    yield opened
    opened.close()


@pytest.fixture
def one_run(store: Store) -> Callable[..., None]:
    """An idea with a run and an agent, all number 1."""

    def make(state: str = "running", **values: Any) -> None:
        Idea.insert(store, project_id=1, title="Try it", source="human", actor="human")
        row: dict[str, Any] = {
            "project_id": 1,
            "idea_id": 1,
            "number": 1,
            "base_id": 1,
            "harness": "fake",
            "state": state,
        }
        Run.insert(store, **{**row, "actor": "daemon", **values})
        agent: dict[str, Any] = {
            "project_id": 1,
            "run_id": 1,
            "harness": "fake",
            "session_id": "s",
            "token_hash": "h",
        }
        Agent.insert(store, **{**agent, "state": "busy", "actor": "daemon"})

    return make
