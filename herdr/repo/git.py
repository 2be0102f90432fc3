"""Runs `git` and explains its failures; with hooks off and little environment, or as the person who asked."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from herdr.errors import HerdrError

#: Seconds for everything but checkouts; a healthy call takes milliseconds.
DEFAULT_TIMEOUT = 60.0

#: Characters of a command in a message; some carry hundreds of paths.
SHOWN = 200

#: What git, its filters and its transports need, for herdr's own calls.
KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "SSH_AUTH_SOCK",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_SSH_COMMAND",
    "HTTPS_PROXY",
    "https_proxy",
    "NO_PROXY",
    "no_proxy",
    "SSL_CERT_FILE",
)

#: Variables of a hook that runs us: they would lead our calls to the hook's repository.
LOCATING = frozenset(
    ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_PREFIX")
)

#: Hooks are the user's, for the user's own commits. The other settings keep git from leaving processes behind
#: when our call is over, and from asking for a signature.
FIXED_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "core.safecrlf=false",
)

#: Subcommands that herdr uses only to look.
READS = frozenset(
    (
        *("cat-file", "config", "diff-tree", "for-each-ref", "ls-files", "ls-tree", "merge-base"),
        *("rev-list", "rev-parse", "status", "symbolic-ref"),
    )
)


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """What one git process left: its exit code, raw output, and decoded complaints."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """The output as text without the final newline; bytes that are no UTF-8 survive as surrogates."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def fields(self) -> list[str]:
        """The NUL-terminated fields of output asked for with `-z`."""
        return [os.fsdecode(field) for field in self.out.split(b"\0") if field]


class GitError(HerdrError):
    """A git command failed.

    Args:
        command: the arguments after `git`, without our fixed settings.
        repo: where it ran.
        reason: the last lines of what git said, or that it took too long.
    """

    def __init__(self, command: Sequence[str], repo: Path, reason: str, *, fix: str | None = None) -> None:
        self.command = tuple(command)
        self.repo = repo
        self.reason = reason
        shown = " ".join(command)
        shown = shown if len(shown) <= SHOWN else shown[:SHOWN] + "..."
        super().__init__(f"git {shown} failed in {repo}: {reason}", fix=fix)


class GitMissingError(GitError):
    """There is no git to run."""

    def __init__(self, command: Sequence[str], repo: Path) -> None:
        super().__init__(command, repo, "git is not installed, or not on PATH", fix="Install git 2.38 or newer.")
        self.message = self.reason


class _Process(subprocess.Popen[bytes]):
    """A process whose end is noticed at once: Python sleeps between two looks, for longer than git takes."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, as `Popen.wait` does."""
        if timeout is not None and self.returncode is None and hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(self.pid)
                try:
                    select.select([descriptor], [], [], max(timeout, 0))
                finally:
                    os.close(descriptor)
        return super().wait(timeout)


def run_git(
    repo: Path,
    *args: str | Path,
    input: bytes | None = None,  # noqa: A002 - the name subprocess gives it
    check: bool = True,
    timeout: float | None = DEFAULT_TIMEOUT,
    env: Mapping[str, str] | None = None,
    keep_open: Sequence[int] = (),
    as_user: bool = False,
) -> Completed:
    """Run one git command and wait for it.

    Args:
        repo: the folder it runs in.
        args: the arguments after `git`, never passed through a shell.
        input: what it reads from standard input; nothing by default.
        check: raise when it exits non-zero.
        timeout: seconds until it and everything it started are killed; None waits as long as it takes.
        env: variables added to its environment.
        keep_open: file descriptors that it inherits (a lock that must outlive us if we are killed).
        as_user: run it as the person who typed a command would: with all their variables, which may hold
            credentials, their settings and hooks (git-lfs uploads in one), and the terminal, on which ssh asks
            for a passphrase. Otherwise it gets a minimal environment, our settings, and no terminal.

    Raises:
        GitError: on a non-zero exit with `check`, on a timeout, or when git or the folder is missing.
    """
    command = [os.fspath(arg) for arg in args]
    settings = [] if as_user else [word for setting in FIXED_CONFIG for word in ("-c", setting)]
    try:
        process = _Process(
            ["git", *settings, *command],
            cwd=repo,
            env=_environment(reads=_subcommand(command) in READS, as_user=as_user) | dict(env or {}),
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=not as_user,
            pass_fds=tuple(keep_open),
        )
    except FileNotFoundError as error:
        if not repo.is_dir():
            raise GitError(command, repo, "there is no such folder") from error
        raise GitMissingError(command, repo) from error
    except NotADirectoryError as error:
        raise GitError(command, repo, "this is not a folder") from error
    with process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired as error:
            _kill(process, group=not as_user)
            raise GitError(command, repo, f"not done after {timeout:g} seconds") from error
        except BaseException:
            _kill(process, group=not as_user)
            raise
    done = Completed(code=process.returncode, out=out, err=err.decode(errors="replace"))
    if check and done.code != 0:
        raise GitError(command, repo, _last_lines(done))
    return done


def identity(repo: Path) -> tuple[str, ...]:
    """Settings for `git` that let it commit in `repo`: none where the user configured a name and an address."""
    listed = run_git(repo, "config", "-z", "--get-regexp", r"^user\.(name|email)$", check=False).fields
    known = dict(field.partition("\n")[::2] for field in listed)
    fallback = {"user.name": "herdr", "user.email": "herdr@localhost"}
    return tuple(word for key in fallback if not known.get(key) for word in ("-c", f"{key}={fallback[key]}"))


def commit_tree(repo: Path, tree: str, *, parents: Sequence[str], message: str) -> str:
    """Make a commit object of `tree`, as the repo's own identity or herdr, and return its id.

    Args:
        repo: the repo, or one of its worktrees; no branch of it moves.
        tree: the id of a tree that the repo has.
        parents: the full ids of the parents, the first one first; none for a commit without history.
        message: the whole message.
    """
    flags = [word for parent in parents for word in ("-p", parent)]
    return run_git(
        repo, *identity(repo), "commit-tree", tree, *flags, "-F", "-", input=message.encode("utf-8", "replace")
    ).text


def _environment(*, reads: bool, as_user: bool) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if (name not in LOCATING if as_user else name in KEPT_VARIABLES)
    }
    own = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat", "GIT_EDITOR": "false"}
    # A command that only reads may still lock the index to refresh it, and make the user's own command fail.
    return kept | own | ({"GIT_OPTIONAL_LOCKS": "0"} if reads else {})


def _subcommand(command: Sequence[str]) -> str:
    words = iter(command)
    for word in words:
        if word in ("-c", "-C"):
            next(words, None)
        elif not word.startswith("-"):
            return word
    return ""


def _kill(process: subprocess.Popen[bytes], *, group: bool) -> None:
    if not group:
        process.kill()
        return
    # git was started in a session of its own, so this ends the checkout and filter processes that it started too.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _last_lines(done: Completed) -> str:
    lines = [line.strip() for line in (done.err or done.text).splitlines() if line.strip()]
    return "; ".join(lines[-4:]) or f"exit code {done.code} and no message"
