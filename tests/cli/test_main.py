"""What holds for every command: quick to start, lazily loaded, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from herdr.cli.main import run
from herdr.cli.running import GROUPS
from herdr.home import Home

HEAVY = {"libtmux", "anyio", "psutil", "rich", "pluggy", "jinja2", "tomli", "pathspec", "asyncio"}
LOADED = (
    "import sys; from herdr.cli.main import run; run({0!r}, {1!r}); print('|'.join(sys.modules), file=sys.stderr)"
)


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("piloop", ["--help"]),
        ("herdr", ["--help"]),
        ("piloop", ["status"]),
        ("herdr", ["status"]),
        ("piloop", ["sql", "SELECT 1"]),
    ],
)
def test_the_quick_commands_import_nothing_heavy(project: Path, program: str, arguments: list[str]) -> None:
    script = LOADED.format(program, arguments)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout
    loaded = set(done.stderr.strip().split("|"))
    assert loaded & (HEAVY | {"herdr_claude", "herdr_briefs", "herdr.plugins"}) == set()


def test_every_command_of_the_tables_is_there_and_says_what_it_is_for() -> None:
    for program, group in GROUPS.items():
        context = click.Context(group, info_name=program)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command.name == name
            assert command.help


def test_help_and_version_work_without_a_home(typed: Any) -> None:
    for program in GROUPS:
        assert "Commands:" in typed(program, "--help").out
        assert typed(program, "--version").out.startswith(f"{program} ")
        assert typed(program).code in (0, 2)  # what click says to no arguments changed


def test_a_command_of_a_plugin_is_found_when_it_is_named(typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def claim() -> None:
        click.echo("claimed")

    monkeypatch.setattr("herdr.plugins.commands.find_command", {"claim": claim}.get)
    assert typed("piloop", "claim").out == "claimed\n"
    assert typed("piloop", "clam").code == 2


def raising(error: BaseException) -> Any:
    def connect(*_arguments: object) -> Any:
        raise error

    return connect


def test_a_bug_is_one_line_and_its_traceback_is_in_the_log(
    project: Path, typed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("herdr.cli.asking.connect", raising(ZeroDivisionError("oops")))
    done = typed("piloop", "status")
    log = Home.from_environ(os.environ).log
    assert (done.code, done.err.splitlines()[0]) == (1, "error: ZeroDivisionError: oops")
    assert str(log) in done.err
    assert "Traceback" not in done.err
    assert "Traceback" in log.read_text()
    monkeypatch.setenv("HERDR_DEBUG", "1")
    assert "Traceback" in typed("piloop", "status").err


def test_an_interrupt_is_quiet(typed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("herdr.cli.asking.connect", raising(KeyboardInterrupt()))
    done = typed("piloop", "status")
    assert (done.code, done.out, done.err.strip()) == (130, "", "")


def test_a_reader_that_goes_away_is_quiet(project: Path) -> None:
    command = f"{sys.executable} -m herdr.cli candidate list --json | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_a_deleted_folder_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Any) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "was deleted" in typed("piloop", "status").err
    monkeypatch.chdir(tmp_path)


def test_run_returns_what_a_command_exits_with() -> None:
    assert run("piloop", ["--help"]) == 0


INTERRUPTING = """
import sys
class Interrupting:
    def find_spec(self, name, *_):
        if name == {0!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
sys.argv = ["piloop", "status"]
from herdr.cli.main import piloop
piloop()
"""


@pytest.mark.parametrize("module", ["click", "herdr.cli.running", "herdr.cli.status", "herdr.store"])
def test_an_interrupt_during_imports_ends_quietly(module: str, project: Path) -> None:
    argv = [sys.executable, "-c", INTERRUPTING.format(module)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


@pytest.mark.parametrize("words", [("idea", "add", "-fast"), ("prompt", "worker#1", "--go")])
def test_a_text_that_looks_like_an_option_is_helped(typed: Any, words: tuple[str, ...]) -> None:
    done = typed("piloop", *words)
    assert done.code == 2
    assert "a text that starts with a dash goes after --: piloop" in done.err


def test_a_patch_overwrites_only_when_told_to(project: Path, typed: Any, tmp_path: Path) -> None:
    file = tmp_path / "x.patch"
    file.write_text("mine")
    done = typed("piloop", "apply", "--patch", str(file))
    assert (done.code, file.read_text()) == (2, "mine")
    assert f"{file} exists" in done.err
    assert typed("piloop", "apply", "--patch", str(file), "--force").code == 0
    assert file.read_text() != "mine"


def test_a_pinned_harness_is_listed_and_a_bad_agent_is_told_shortly(project: Path, typed: Any) -> None:
    assert typed("piloop", "idea", "add", "Try it", "--harness", "fake").code == 0
    assert "Try it  (with fake)" in typed("piloop", "idea", "list").out
    assert "Try it  (with fake)" in typed("piloop", "status").out
    done = typed("herdr", "logs", "worker-3")
    assert done.err.startswith("error: 'worker-3' does not name an agent\nfix: write worker#N, ")
