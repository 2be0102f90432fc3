from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import tomli

from herdr.demo.agent import find_idea
from herdr.demo.create import create_project
from herdr.demo.ideas import IDEAS
from herdr.demo.steps import PROJECT
from herdr.errors import HerdrError

BY_KEY = {idea.key: idea for idea in IDEAS}
SOURCE = Path(__file__).resolve().parents[2]
RULES = tomli.loads((PROJECT / "piloop.toml").read_text())["harness"]["scripted"]
FAKE_PILOOP = """#!/bin/sh
printf '%s|' "$@" >> "$0.log"
echo >> "$0.log"
echo "candidate#1 keep 13507"
"""


class Pane:
    """An agent on a pseudo-terminal."""

    def __init__(self, descriptor: int, process: subprocess.Popen[bytes]) -> None:
        self.descriptor, self.process, self.text = descriptor, process, ""

    def until(self, done: Callable[[str], object], seconds: float = 40) -> str:
        """Read until what was printed satisfies `done`."""
        end = time.monotonic() + seconds
        while not done(self.text):
            assert time.monotonic() < end, self.text
            if select.select([self.descriptor], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.descriptor, 65536).decode()
                except OSError:
                    assert done(self.text), self.text
        return self.text

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def ended(self) -> int:
        """Read to the end, and return the exit status."""
        try:
            while data := os.read(self.descriptor, 65536):
                self.text += data.decode()
        except OSError:
            pass
        return self.process.wait(10)


@pytest.fixture
def worktree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fake = tmp_path / "bin" / "piloop"
    fake.parent.mkdir()
    fake.write_text(FAKE_PILOOP)
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    root = create_project(tmp_path / "tour")
    run = tmp_path / "run-7"
    git(root, "worktree", "add", "-q", "-b", "piloop/tour/run-7", str(run))
    return run


@contextmanager
def agent(worktree: Path, key: str) -> Iterator[Pane]:
    brief = worktree.parent / "brief.md"
    others = "\n".join(idea.title for idea in IDEAS if idea.key != key)
    brief.write_text(f"# Your idea\n\n```\n{BY_KEY[key].title}\n```\n\n# Earlier\n\n{others}\n")
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "herdr.demo.agent", str(brief)]
    process = subprocess.Popen(argv, cwd=worktree, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        yield Pane(ours, process)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def subjects(worktree: Path) -> list[str]:
    return git(worktree, "log", "--reverse", "--format=%s", "main..HEAD").splitlines()


def calls(worktree: Path) -> list[str]:
    return (worktree.parent / "bin" / "piloop.log").read_text().splitlines()


def composer(text: str) -> str | None:
    """What the composer rule of piloop.toml reads from the last line."""
    found = re.search(RULES["composer"], re.split(r"\n|\x1b\[J", text)[-1])
    return found["text"] if found else None


def test_it_edits_checks_commits_and_reports(worktree: Path) -> None:
    with agent(worktree, "or_opt") as pane:
        assert pane.ended() == 0, pane.text
    assert subjects(worktree) == ["Move single cities to a better place", "Move chains of up to three cities"]
    assert git(worktree, "status", "--porcelain") == ""
    assert "METRIC length=13057" in pane.text
    assert calls(worktree) == [
        "comment|add|run#7|--kind|finding|Single cities gave 13057, chains of up to three 11438.|"
    ]


def test_a_message_changes_the_result_and_is_acknowledged(worktree: Path) -> None:
    steer = BY_KEY["kicks"].steer
    assert steer
    with agent(worktree, "kicks") as pane:
        pane.until(lambda text: composer(text) == "")
        pane.type("[piloop] finding on idea#2: unrelated\n")
        pane.until(lambda text: "received: [piloop] finding" in text)
        # As a terminal multiplexer pastes it, and the Enter only after the draft is seen.
        pane.type(f"\x1b[200~[piloop] decision on idea#5 by human: {steer}\x1b[201~")
        pane.until(lambda text: (composer(text) or "").endswith(steer))
        pane.type("\r")
        pane.until(lambda text: RULES["received"].replace("{text}", "[piloop] decision") in text)
        assert pane.ended() == 0, pane.text
    assert subjects(worktree) == ["Kick the tour and repair around the kick", "Use 800 kicks, as asked"]
    assert "KICKS = 800" in (worktree / "tour/polish/kicks.py").read_text()
    assert calls(worktree)[0] == "candidate|list|"


def test_a_draft_outlives_the_lines_printed_meanwhile(worktree: Path) -> None:
    with agent(worktree, "exact") as pane:
        pane.until(lambda text: composer(text) == "")
        pane.type("a dräft")
        pane.until(lambda text: composer(text) == "a dräft")
        before = len(pane.text)
        pane.until(lambda text: "METRIC" in text[before:])
        pane.until(lambda text: composer(text) == "a dräft")
        pane.type("\x7f\x7fs\n")
        pane.until(lambda text: "received: a dräs\r\n" in text)
        assert pane.ended() == 0
    assert subjects(worktree) == []


def test_the_first_start_dies_before_anything_and_the_second_works(worktree: Path) -> None:
    with agent(worktree, "or_three_opt") as pane:
        assert pane.ended() == 1
    assert (subjects(worktree), git(worktree, "status", "--porcelain")) == ([], "")
    with agent(worktree, "or_three_opt") as pane:
        assert pane.ended() == 0, pane.text
    assert subjects(worktree) == ["Swap neighbouring parts of any length"]


def test_work_is_left_uncommitted_where_the_script_says_so(worktree: Path) -> None:
    with agent(worktree, "neighbours") as pane:
        assert pane.ended() == 0, pane.text
    assert subjects(worktree) == []
    assert git(worktree, "status", "--porcelain") == "M tour/settings.py"


def test_it_works_without_a_terminal_and_without_piloop(worktree: Path) -> None:
    (worktree.parent / "bin" / "piloop").unlink()
    brief = worktree.parent / "brief.md"
    brief.write_text(BY_KEY["exchange"].title)
    path = os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if not Path(p, "piloop").exists())
    done = subprocess.run(
        [sys.executable, "-m", "herdr.demo.agent", str(brief)],
        cwd=worktree, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "piloop: No such file or directory" in done.stdout
    assert "\x1b" not in done.stdout
    assert subjects(worktree) == ["Exchange neighbours once around the trip"]


def test_a_brief_about_something_else_is_refused() -> None:
    assert find_idea(f"…{IDEAS[3].title}…{IDEAS[0].title}") is IDEAS[3]
    with pytest.raises(HerdrError, match="names no idea"):
        find_idea("# Write a poem")
