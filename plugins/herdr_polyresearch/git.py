"""git in one folder, run as the person who typed the command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from herdr.api import Completed, GitError, GitMissingError, run_git


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
        try:
            return self._run(*args, stdin=stdin, env=env, check=True).text
        except GitMissingError:
            raise
        except GitError as error:
            error.fix = fix or f"look at it: git -C {self.folder} {' '.join(error.command)}"
            raise

    def ask(self, *args: str | Path) -> str | None:
        """What a command printed; None when it failed."""
        done = self.run(*args)
        return done.text if done.code == 0 else None

    def holds(self, *args: str | Path) -> bool:
        """Whether a command that only answers by its exit code says yes."""
        return self.run(*args).code == 0

    def run(self, *args: str | Path) -> Completed:
        """Run a command, whatever it answers.

        Raises:
            GitError: git or the folder is missing.
        """
        return self._run(*args, check=False)

    def _run(
        self,
        *args: str | Path,
        check: bool,
        stdin: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        read = None if stdin is None else stdin.encode("utf-8", "surrogateescape")
        # A push or a fetch takes as long as it takes; whoever typed the command can end it.
        return run_git(self.folder, *args, input=read, check=check, timeout=None, env=env, as_user=True)


def main_worktree(git: Git) -> Path | None:
    """The worktree that the repository was cloned into; None when it has none."""
    first, *_ = (git.ask("worktree", "list", "--porcelain") or "").split("\n\n")
    fields = first.splitlines()
    if not fields or "bare" in fields:
        return None
    return Path(fields[0].removeprefix("worktree "))
