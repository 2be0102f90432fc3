"""What holds for each of our programs alike: how it is ended, and how whatever goes wrong is said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from herdr_polyresearch.cli import run as run_polyresearch

from herdr.api import HerdrError, LazyGroup
from herdr.cli.main import run as run_host
from herdr.home import Home

PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    "piloop": lambda arguments: run_host("piloop", arguments),
    "herdr": lambda arguments: run_host("herdr", arguments),
    "polyresearch": run_polyresearch,
}
#: The module and the function that each is started by.
ENTRIES = {
    "piloop": ("herdr.cli.main", "piloop"),
    "herdr": ("herdr.cli.main", "herdr"),
    "polyresearch": ("herdr_polyresearch.cli", "main"),
}
each = pytest.mark.parametrize("program", PROGRAMS)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("PILOOP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HERDR_DEBUG", raising=False)
    return Home.from_environ(os.environ).ensure()


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have every command fail like this."""

    @click.command()
    def fail() -> None:
        raise error

    monkeypatch.setattr(LazyGroup, "get_command", lambda *_: fail)


def started(program: str, *arguments: str, before: str = "") -> list[str]:
    """The argv that starts a program, with something done before."""
    module, function = ENTRIES[program]
    words = ["import sys", before, f"sys.argv = {[program, *arguments]}", f"from {module} import {function}"]
    return [sys.executable, "-c", "\n".join([*words, f"{function}()"])]


@each
def test_a_bug_is_two_lines_and_its_traceback_is_in_the_log(
    program: str, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, ZeroDivisionError("oops"))
    assert PROGRAMS[program](["status"]) == 1
    error, fix = capsys.readouterr().err.splitlines()
    assert error == "error: ZeroDivisionError: oops"
    assert fix.startswith(f"fix: this is a bug in {'polyresearch' if program == 'polyresearch' else 'herdr'}; ")
    assert str(home.log) in fix
    assert "Traceback" in home.log.read_text()


@each
def test_a_bug_is_said_where_no_log_can_be_written(
    program: str, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, ZeroDivisionError("oops"))
    home.log.mkdir()
    assert PROGRAMS[program](["status"]) == 1
    error, fix = capsys.readouterr().err.splitlines()
    assert error == "error: ZeroDivisionError: oops"
    assert fix.endswith(": HERDR_DEBUG=1 shows where")
    monkeypatch.setenv("HERDR_DEBUG", "1")
    assert PROGRAMS[program](["status"]) == 1
    assert "Traceback" in capsys.readouterr().err


@each
def test_an_error_is_two_lines_and_has_its_own_exit_status(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class FullError(HerdrError):
        exit_code = 75

    failing(monkeypatch, FullError("it is full", fix="empty it"))
    assert PROGRAMS[program](["status"]) == 75
    assert capsys.readouterr().err == "error: it is full\nfix: empty it\n"


@each
def test_a_command_that_is_not_there(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert PROGRAMS[program](["statsu"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: there is no command 'statsu'",
        f"fix: did you mean `{program} status`?",
    ]


@each
def test_an_interrupt_is_quiet(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert PROGRAMS[program](["status"]) == 130
    assert capsys.readouterr().err.strip() == ""


INTERRUPTING = """
class Interrupting:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
"""


@each
def test_an_interrupt_during_imports_is_quiet(program: str) -> None:
    argv = started(program, "status", before=INTERRUPTING)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


@each
def test_a_reader_that_goes_away_ends_it_quietly_as_sigpipe_ends_cat(program: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        argv = started(program, "--help")
        done = subprocess.run(argv, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
        # A shell says 128 + 13 of a program that the signal ends.
        cat = ["bash", "-c", "cat /etc/passwd; echo $? >&2"]
        usual = subprocess.run(cat, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)
    assert done.stderr == ""
    assert done.returncode == int(usual.stderr.splitlines()[-1]) == 141


@each
def test_a_shell_is_told_how_a_word_goes_on(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"_{program.upper()}_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"{program} sta")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert PROGRAMS[program]([]) == 0
    assert capsys.readouterr().out == "plain,status\n"
