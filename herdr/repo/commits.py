"""The commits of a run: the new ones, their trailers, and the uncommitted work left at its end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from herdr.repo.checks import common_dir, tree_of
from herdr.repo.git import commit_tree, run_git
from herdr.repo.worktrees import CHECKOUT_TIMEOUT, made_by_herdr

NOTE, EVAL = "piloop-note", "piloop-eval"

#: Files in a worktree's admin folder that say an operation was begun and not finished.
INTERRUPTED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "BISECT_LOG": "bisect",
}

# One record per commit; a message cannot hold the control characters between keys and values.
_TRAILERS = "%(trailers:only,unfold,separator=%x1e,key_value_separator=%x1f)"
_FORMAT = "%x00".join(["%H", "%T", "%P", "%at", "%s", "%b", _TRAILERS, ""])
_FIELDS = 7


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit; `time` is the author's, in seconds since 1970; `trailers` are as git itself reads them."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    time: int
    subject: str
    body: str
    trailers: tuple[tuple[str, str], ...]

    def trailer(self, key: str) -> tuple[str, ...]:
        """The values of a trailer in order, its key compared without case."""
        return tuple(value for name, value in self.trailers if name.lower() == key.lower())

    @property
    def note(self) -> str | None:
        """Why the author wants a regression kept in sight (`Piloop-Note`); several are joined with `; `."""
        return "; ".join(value for value in self.trailer(NOTE) if value) or None

    @property
    def skip(self) -> bool:
        """Whether the author asks that it is not measured (`Piloop-Eval: skip`)."""
        return "skip" in (value.strip().lower() for value in self.trailer(EVAL))


class Leftovers(msgspec.Struct, frozen=True, kw_only=True):
    """What was found uncommitted.

    `commit` holds it (None when there was nothing), `interrupted` names an operation that was begun and
    not finished, `problems` says what could not be put into the commit.
    """

    commit: Commit | None
    interrupted: str | None = None
    problems: tuple[str, ...] = ()


def new_commits(root: Path, base: str, tip: str) -> list[Commit]:
    """The commits that `tip` has and `base` has not, through all parents, parents before children.

    Args:
        root: the repo, or one of its worktrees.
        base: the commit that the run started from; it is not in the answer.
        tip: the last commit, which is in the answer unless it is `base`.

    Raises:
        GitError: one of them is no commit.
    """
    return _read(root, "--reverse", "--topo-order", f"{base}..{tip}", "--")


def read_commit(root: Path, commit: str) -> Commit:
    """One commit.

    Args:
        root: the repo, or one of its worktrees.
        commit: any revision.

    Raises:
        GitError: there is no such commit.
    """
    return _read(root, "--no-walk", commit, "--")[0]


def interrupted(worktree: Path) -> str | None:
    """The merge, rebase, cherry-pick, revert or bisect that was begun in this worktree and not finished."""
    admin = worktree / run_git(worktree, "rev-parse", "--git-dir").text
    return next((what for name, what in INTERRUPTED.items() if (admin / name).exists()), None)


def commit_leftovers(worktree: Path, message: str, *, exclude: Iterable[str] = ()) -> Leftovers:
    """Commit everything uncommitted in a run's worktree, on top of HEAD and never into an existing commit.

    Only for a worktree whose agent has ended. When HEAD is on a branch that herdr did not make for this
    run, the commit leaves HEAD detached: no branch of the user's moves.

    Args:
        worktree: the run's worktree.
        message: the commit's message.
        exclude: what is in the worktree but not the agent's work (`link` paths), relative to it.
    """
    unfinished = interrupted(worktree)
    # The agent has ended, and may have been killed in the middle of a git command, which then left its lock.
    (worktree / run_git(worktree, "rev-parse", "--git-path", "index.lock").text).unlink(missing_ok=True)
    problems = _stage(worktree, (*_own_paths(worktree), *exclude))
    tree = run_git(worktree, "write-tree").text
    head = run_git(worktree, "rev-parse", "-q", "--verify", "HEAD", check=False).text
    if head and tree == tree_of(worktree, head):
        return Leftovers(commit=None, interrupted=unfinished, problems=problems)
    commit = commit_tree(worktree, tree, parents=[head] if head else [], message=message)
    on = run_git(worktree, "symbolic-ref", "-q", "HEAD", check=False).text
    made = made_by_herdr(common_dir(worktree), worktree)
    own = made is not None and made.branch is not None and on == f"refs/heads/{made.branch}"
    run_git(
        worktree, "update-ref", *(() if own else ("--no-deref",)), "-m", "herdr: uncommitted work", "HEAD", commit
    )
    return Leftovers(commit=read_commit(worktree, commit), interrupted=unfinished, problems=problems)


def _own_paths(worktree: Path) -> Iterable[str]:
    yield ".herdr"
    if (worktree / "workspace").is_symlink():
        yield "workspace"


def _stage(worktree: Path, exclude: Sequence[str]) -> tuple[str, ...]:
    # `git add` of a repo inside the repo records a link to nowhere, and fails on one without commits.
    untracked = run_git(worktree, "ls-files", "-z", "--others", "--exclude-standard").fields
    embedded = [path.rstrip("/") for path in untracked if path.endswith("/")]
    left_out = [f":(top,exclude,literal){path}" for path in (*exclude, *embedded)]
    add = ("add", "-A", "--ignore-errors", "--", ":(top)", *left_out)
    added = run_git(worktree, *add, check=False, timeout=CHECKOUT_TIMEOUT)
    # The agent may have staged them by itself; without a HEAD there is nothing to go back to.
    run_git(worktree, "reset", "-q", "HEAD", "--", *(f":(top,literal){path}" for path in exclude), check=False)
    problems = [f"{path} is a git repo of its own and was left out" for path in embedded]
    if added.code != 0:
        problems += [line for line in added.err.splitlines() if line.startswith(("error:", "fatal:"))]
    return tuple(problems)


def _read(root: Path, *which: str) -> list[Commit]:
    command = ("rev-list", "--no-commit-header", "--encoding=UTF-8", f"--format={_FORMAT}", *which)
    words = [os.fsdecode(word) for word in run_git(root, *command).out.split(b"\0")][:-1]
    return [_commit(words[at : at + _FIELDS]) for at in range(0, len(words), _FIELDS)]


def _commit(words: Sequence[str]) -> Commit:
    sha, tree, parents, time, subject, body, trailers = words
    pairs = [pair.partition("\x1f") for pair in trailers.split("\x1e") if "\x1f" in pair]
    return Commit(
        sha=sha.lstrip("\n"),
        tree=tree,
        parents=tuple(parents.split()),
        time=int(time),
        subject=subject,
        body=body.strip("\n"),
        trailers=tuple((key, value.strip()) for key, _, value in pairs),
    )
