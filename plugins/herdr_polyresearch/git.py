"""Runs git for the commands: in one folder, untouched by the repository of whoever calls us."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from herdr.api import HerdrError

#: git must not act on the repository of a hook that runs us.
LOCATING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")


class GitError(HerdrError):
    """A git command failed."""


class Git:
    """git in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def do(
        self, *args: str | Path, stdin: str | None = None, env: Mapping[str, str] | None = None, fix: str = ""
    ) -> str:
        """Run a command and return what it printed, without the last line's end.

        Args:
            args: what follows `git`.
            stdin: what it reads; nothing when None.
            env: variables to add.
            fix: what to do when it fails; trying it by hand when empty.

        Raises:
            GitError: it failed.
        """
        done = self.run(*args, stdin=stdin, env=env)
        if done.returncode:
            said = done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
            words = " ".join(map(str, args))
            raise GitError(
                f"git {args[0]} failed in {self.folder}: {said}",
                fix=fix or f"look at it: git -C {self.folder} {words}",
            )
        return done.stdout.rstrip("\n")

    def ask(self, *args: str | Path) -> str | None:
        """What a command printed; None when it failed."""
        done = self.run(*args)
        return done.stdout.rstrip("\n") if done.returncode == 0 else None

    def holds(self, *args: str | Path) -> bool:
        """Whether a command that only answers by its exit code says yes."""
        return self.run(*args).returncode == 0

    def run(
        self, *args: str | Path, stdin: str | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command, whatever it answers.

        Raises:
            GitError: git is missing.
        """
        kept = {name: value for name, value in os.environ.items() if name not in LOCATING}
        try:
            return subprocess.run(
                ["git", *map(str, args)],
                cwd=self.folder,
                env={**kept, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", **(env or {})},
                input=stdin if stdin is not None else "",
                capture_output=True,
                encoding="utf-8",
                errors="surrogateescape",
                check=False,
            )
        except FileNotFoundError as error:
            raise GitError("git is not on PATH", fix="install git 2.38 or newer") from error


def main_worktree(git: Git) -> Path | None:
    """The worktree that the repository was cloned into; None when it has none."""
    first, *_ = (git.ask("worktree", "list", "--porcelain") or "").split("\n\n")
    fields = first.splitlines()
    if not fields or "bare" in fields:
        return None
    return Path(fields[0].removeprefix("worktree "))
