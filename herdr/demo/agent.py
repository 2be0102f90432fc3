"""The scripted agent: `python -m herdr.demo.agent BRIEF`, run in a worktree, does what a model would do there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from herdr.errors import HerdrError

from .ideas import IDEAS, DemoIdea
from .steps import Add, Check, CommitAll, DieOnFirstStart, Find, Listen, Look, Replace, Say, Set, Step, apply_edit
from .terminal import WORKING, Terminal

# Lines of a command's output that are worth a place in the pane: the last ones.
SHOWN = 6


def find_idea(brief: str) -> DemoIdea:
    """The idea that a brief is about: the one whose title comes first in it.

    Raises:
        HerdrError: no title of the demo is in it.
    """
    found = [(place, idea) for idea in IDEAS if (place := brief.find(idea.title)) >= 0]
    if not found:
        raise HerdrError("the brief names no idea of the demo", fix="piloop idea list")
    return min(found, key=lambda each: each[0])[1]


class ScriptedAgent:
    """Works through one idea's script in the current directory."""

    def __init__(self, terminal: Terminal, run: str) -> None:
        self.terminal = terminal
        self.run = run
        self.root = Path.cwd()
        self.lengths: list[str] = []

    def do(self, step: Step) -> None:
        """Take one step of a script."""
        if isinstance(step, Say):
            self.terminal.say(f"\n● {step.text}")
            self.terminal.pause(step.seconds)
        elif isinstance(step, Add | Set | Replace):
            apply_edit(self.root, step)
            self.terminal.say(f"  edited {step.path}")
            self.terminal.pause(0.4)
        elif isinstance(step, Check):
            self._check()
        elif isinstance(step, CommitAll):
            self.shell("git", "add", "--all")
            self.shell("git", "commit", "--quiet", "-m", step.message)
        elif isinstance(step, Look):
            self.shell("piloop", "candidate", "list")
        elif isinstance(step, Find):
            first, last = (self.lengths or ["unknown"])[0], (self.lengths or ["unknown"])[-1]
            text = step.text.format(first=first, last=last)
            self.shell("piloop", "comment", "add", self.run, "--kind", "finding", text)
        elif isinstance(step, Listen):
            self._listen(step)

    def shell(self, *argv: str) -> str:
        """Run a command, taking messages meanwhile; show its end, and return what it printed."""
        self.terminal.say(f"  $ {shlex.join([Path(argv[0]).name, *argv[1:]])}")
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
            try:
                process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            except OSError as error:
                self.terminal.say(f"    {argv[0]}: {error.strerror}")
                return ""
            while process.poll() is None:
                self.terminal.pause(0.05)
            log.seek(0)
            output = log.read()
        for line in output.splitlines()[-SHOWN:]:
            self.terminal.say(f"    {line}")
        return output

    def _check(self) -> None:
        output = self.shell(sys.executable, "evaluate.py")
        self.lengths += re.findall(r"^METRIC length=(\S+)$", output, flags=re.MULTILINE)

    def _listen(self, step: Listen) -> None:
        end = time.monotonic() + step.seconds
        while not (wanted := self._asked(step.word)) and (left := end - time.monotonic()) > 0:
            # It counts down, so that a person who looks sees that the agent waits and has not finished.
            self.terminal.show(f"  waiting for a word: {left:.0f} s")
            self.terminal.pause(min(left, 1.0))
        self.terminal.show(WORKING)
        if not wanted:
            self.do(Say("Nobody objects, so it stays as it is."))
            return
        self.do(Say(f"Understood: {wanted} {step.word}."))
        self.do(Set(step.path, step.name, wanted))
        self.do(Check())
        self.do(CommitAll(f"Use {wanted} {step.word}, as asked"))

    def _asked(self, word: str) -> str | None:
        """The number that the latest message about it names; other messages are only information."""
        numbers = re.findall(rf"(\d+) {word}", "\n".join(self.terminal.messages))
        return numbers[-1] if numbers else None


def main(argv: Sequence[str]) -> int:
    """Read the brief, and work through the idea it names; the exit status is returned."""
    idea = find_idea(Path(argv[0]).read_text(encoding="utf-8"))
    if any(isinstance(step, DieOnFirstStart) for step in idea.script) and _first_start(idea):
        print("cannot start: the licence server did not answer", file=sys.stderr)
        return 1
    with Terminal(f"scripted agent · {idea.title}") as terminal:
        agent = ScriptedAgent(terminal, _run())
        for step in idea.script:
            agent.do(step)
    return 0


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def _run() -> str:
    """The run this worktree belongs to, as its branch says."""
    branch = _git("branch", "--show-current")
    return f"run#{branch.rpartition('run-')[2]}"


def _first_start(idea: DemoIdea) -> bool:
    """True once per repo: a worktree may be made anew between two starts, the repo's git directory is not."""
    mark = Path(_git("rev-parse", "--git-common-dir"), f"herdr-demo-{idea.key}")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except HerdrError as error:
        sys.exit(f"{error}. Fix: {error.fix}")
