"""Who may act by a command: not an agent's stray process, and from a run's worktree only who says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from herdr.store.connection import Store
from herdr.store.rows import Run

ACTING = (
    *(("herdr", name) for name in ("up", "down", "attach", "clean", "init", "demo")),
    *(("piloop", "apply"), ("piloop", "prompt", "1", "x"), ("piloop", "pause"), ("piloop", "init")),
    *(
        ("piloop", "idea", "add", "x"),
        ("piloop", "inbox", "ack", "comment#1"),
        ("herdr", "orchestrator", "token"),
    ),
)
READING = (
    *(("herdr", name) for name in ("logs", "doctor", "status", "plugins")),
    *(("piloop", name) for name in ("status", "history", "events", "schema")),
    *(("piloop", "idea", "list"), ("piloop", "sql", "SELECT 1")),
)


@pytest.mark.parametrize("name", ["HERDR_AGENT", "PILOOP_ACTOR"])
@pytest.mark.parametrize("command", [*ACTING, *READING], ids=" ".join)
def test_an_agent_without_its_token_is_no_person(
    typed: Any, project: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str
) -> None:
    monkeypatch.setenv(name, "worker#3")
    done = typed(*command)
    said = "error: an agent without its token may not use "
    assert (done.code, done.err.startswith(said), done.out) == (1, True, "")
    assert f"{name} is set" in done.err


@pytest.fixture
def inside(project: Path, one_run: Any, store: Store, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the worktree of a run, where the test stands."""
    one_run()
    folder = project / ".worktrees" / "run-1-x" / "src"
    folder.mkdir(parents=True)
    Run.update(store, 1, worktree=str(folder.parent), actor="daemon")
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("command", ACTING, ids=" ".join)
def test_from_a_worktree_nothing_is_done_before_it_is_said(
    typed: Any, inside: Path, command: tuple[str, ...]
) -> None:
    done = typed(*command)
    assert (done.code, done.out) == (1, "")
    assert f"{inside} is in the worktree {inside.parent}" in done.err
    assert "--as-person" in done.err


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_from_a_worktree_a_person_may_read(typed: Any, inside: Path, command: tuple[str, ...]) -> None:
    assert "is in the worktree" not in typed(*command).err


@pytest.mark.parametrize("words", [("--as-person", "idea", "add", "x"), ("idea", "add", "x", "--as-person")])
def test_a_person_says_so_before_or_after_the_command(typed: Any, inside: Path, words: tuple[str, ...]) -> None:
    done = typed("piloop", *words)
    assert (done.code, done.err) == (0, "")
    assert "idea#2" in done.out


def test_who_says_so_and_is_an_agent_is_refused_all_the_same(
    typed: Any, inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERDR_AGENT", "x:1")
    assert "an agent without its token" in typed("herdr", "--as-person", "down").err
    assert "an agent without its token" in typed("piloop", "pause", "--as-person").err
