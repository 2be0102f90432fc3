"""Whatever is typed wrongly gives one clear message and a non-zero status, and leaves everything as it was."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from herdr.home import Home
from herdr.store.connection import Store

HUGE = "9" * 40

#: (command line, exit status, part of what is said)
WRONG: list[tuple[tuple[str, ...], int, str]] = [
    (("piloop", "idea", "add", "nowhere", "x"), 2, "no project is called 'nowhere'"),
    (("piloop", "idea", "add", ""), 2, "the title is empty"),
    (("piloop", "idea", "add"), 2, "Missing argument"),
    (("piloop", "idea", "add", "a", "title", "without", "quotes"), 2, "too many words"),
    (("piloop", "idea", "add", "x", "--harness", "nope"), 2, "no harness is called 'nope'"),
    (("piloop", "idea", "add", "x", "--priority", "7"), 2, "7 is not in the range"),
    (("piloop", "idea", "add", "x", "--base", "candidate#9"), 2, "there is no candidate#9"),
    (("piloop", "idea", "add", "x", "--after", "run#1"), 2, "does not name an idea"),
    (("piloop", "idea", "add", "x", "--nope"), 2, "No such option"),
    (("piloop", "idea", "show", "idea#99"), 2, "there is no idea#99"),
    (("piloop", "idea", "show", "run#1"), 2, "'run#1' does not name an idea"),
    (("piloop", "idea", "show", HUGE), 2, "does not name an idea"),
    (("piloop", "idea", "show", "-1"), 2, "No such option"),
    (("piloop", "idea", "show", "0"), 2, "does not name an idea"),
    (("piloop", "idea", "list", "nowhere"), 2, "no project is called 'nowhere'"),
    (("piloop", "idea", "list", "--status", "lost"), 2, "is not one of"),
    (("piloop", "run", "show", "run#99"), 2, "there is no run#99"),
    (("piloop", "run", "cancel", "candidate#1"), 2, "does not name a run"),
    (("piloop", "run", "cancel", "9223372036854775807"), 2, "there is no run#9223372036854775807"),
    (("piloop", "run", "list", "--limit", "0"), 2, "not in the range"),
    (("piloop", "candidate", "show", "99"), 2, "there is no candidate#99"),
    (("piloop", "candidate", "diff", "candidate#1"), 2, "has no parent"),
    (("piloop", "candidate", "diff", "1", "--against", "idea#1"), 2, "does not name a candidate"),
    (("piloop", "comment", "add", "idea#99", "x"), 2, "there is no idea#99"),
    (("piloop", "comment", "add", "tiny", ""), 2, "the comment is empty"),
    (("piloop", "comment", "add", "tiny", "x", "--priority", "5"), 2, "5 is not in the range"),
    (("piloop", "comment", "show", HUGE), 2, "does not name a comment"),
    (("piloop", "comment", "list", "worker#4"), 2, "there is no worker#4"),
    (("piloop", "apply", "candidate#99"), 2, "there is no candidate#99"),
    (("piloop", "apply", "--branch", "bad..name"), 2, "cannot be the name of a branch"),
    (("piloop", "pause", "nowhere"), 2, "no project is called 'nowhere'"),
    (("piloop", "status", "nowhere"), 2, "no project is called 'nowhere'"),
    (("piloop", "sql", "DELETE FROM ideas"), 1, "may not delete from ideas"),
    (("piloop", "events", "--after", HUGE), 2, "event.list"),
    (("piloop", "prompt", "worker#9", "x"), 1, "the daemon is not running"),
    (("piloop", "init", "/nowhere"), 2, "/nowhere is not a folder"),
    (("piloop", "statsu"), 2, "there is no command 'statsu'"),
    (("herdr", "attach", "nowhere"), 2, "no project is called 'nowhere'"),
    (("herdr", "attach", "worker#9"), 2, "there is no worker#9"),
    (("herdr", "attach"), 1, "has no tmux session"),
    (("herdr", "logs", "worker#9"), 2, "there is no worker#9"),
    (("herdr", "harness", "show", "cluade"), 2, "no harness is called cluade"),
    (("herdr", "up", "/nowhere"), 2, "/nowhere is not a folder"),
]


def contents(store: Store) -> dict[str, list[Any]]:
    """Every row of every table."""
    tables = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return {name: [tuple(row) for row in store.execute(f"SELECT * FROM {name}")] for (name,) in tables}


def test_wrong_commands_say_so_and_change_nothing(store: Store, project: Path, typed: Any) -> None:
    before = contents(store), sorted(project.iterdir())
    for (program, *arguments), code, said in WRONG:
        done = typed(program, *arguments)
        assert (done.code, said in done.err) == (code, True), (program, arguments, done)
        lines = done.err.splitlines()
        assert lines[0].startswith("error: ")
        assert [line.partition(" ")[0] for line in lines[1:]] in ([], ["fix:"])
        assert done.out == ""
    assert (contents(store), sorted(project.iterdir())) == before


def test_near_names_are_suggested(typed: Any) -> None:
    assert "did you mean `piloop status`?" in typed("piloop", "statsu").err
    assert "did you mean `herdr attach`?" in typed("herdr", "attahc").err


@pytest.mark.parametrize("arguments", [("idea", "add", "x"), ("status",), ("sql", "SELECT 1"), ("events",)])
def test_without_a_home_nothing_is_made(typed: Any, arguments: tuple[str, ...]) -> None:
    done = typed("piloop", *arguments)
    assert (done.code, "no project is registered" in done.err, "herdr init" in done.err) == (2, True, True)
    assert not Home.from_environ(os.environ).root.exists()


def test_a_folder_without_a_repo(typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (("piloop", "init"), ("herdr", "up", ".")):
        done = typed(*command)
        assert (done.code, "is not inside a git repo" in done.err) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_a_repo_without_commits(typed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    monkeypatch.chdir(tmp_path)
    done = typed("piloop", "init")
    assert (done.code, "has no commits" in done.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == [".git"]


def test_a_repo_without_a_configuration_gets_one_to_fill_in(
    typed: Any, make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repo()
    monkeypatch.chdir(root)
    for _ in range(2):
        done = typed("herdr", "up", "-d")
        assert (done.code, "not registered yet" in done.err) == (1, True)
    assert (root / "piloop.toml").exists()
    assert not Home.from_environ(os.environ).database.exists()


def test_a_configuration_with_mistakes_gives_a_line_each(typed: Any, root: Path) -> None:
    toml = (root / "piloop.toml").read_text()
    (root / "piloop.toml").write_text('nmae = 1\nmax_evaluations = "x"\n' + toml)
    done = typed("piloop", "init")
    assert (done.code, len(done.err.splitlines())) == (2, 2)


def test_a_repo_that_was_moved_away(typed: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    project.rename(project.with_name("moved"))
    done = typed("piloop", "apply", "tiny")
    assert (done.code, "is not at" in done.err, "move it back" in done.err) == (1, True, True)
    assert "ERROR    projects: the repo of tiny is not at" in typed("herdr", "doctor").out


def test_a_home_that_is_a_file(typed: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = project.parent / "file"
    file.write_text("mine")
    monkeypatch.setenv("PILOOP_HOME", str(file))
    for command in (("piloop", "status"), ("piloop", "init"), ("herdr", "up", "-d"), ("herdr", "clean")):
        done = typed(*command)
        assert (done.code, str(file) in done.err, "fix:" in done.err) == (1, True, True), command
    assert file.read_text() == "mine"


def test_a_newer_database_is_left_alone(typed: Any, project: Path) -> None:
    database = Home.from_environ(os.environ).database
    with sqlite3.connect(database) as raw:
        raw.execute("PRAGMA user_version = 999")
    raw.close()
    before = database.read_bytes()
    for command in (("piloop", "status"), ("piloop", "idea", "add", "x"), ("piloop", "init")):
        done = typed(*command)
        assert (done.code, "newer" in done.err) == (1, True), done
    assert database.read_bytes() == before


def test_without_tmux(typed: Any, project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    done = typed("herdr", "up", "-d")
    assert (done.code, "tmux is not installed" in done.err) == (1, True)
    assert "ERROR    tmux: tmux is not installed" in typed("herdr", "doctor").out


def test_an_agent_may_not_use_what_is_for_people(
    typed: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERDR_MAILBOX", str(project))
    monkeypatch.setenv("PILOOP_ACTOR", "worker#3")
    commands = (
        *(
            ("herdr", name)
            for name in ("up", "down", "attach", "doctor", "logs", "clean", "plugins", "init", "demo")
        ),
        *(("piloop", "apply"), ("piloop", "prompt", "1", "x"), ("herdr", "harness", "list")),
    )
    for command in commands:
        done = typed(*command)
        assert (done.code, done.err.startswith("error: worker#3 may not use")) == (1, True), command
