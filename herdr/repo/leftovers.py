"""What an agent left uncommitted: committed separately, on top of where it stood, without its git being run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from herdr.files import NotPlainError
from herdr.repo.checks import SUBMODULE
from herdr.repo.commits import Commit, read_commit
from herdr.repo.files import delete_entry, is_folder, read_file, write_file
from herdr.repo.git import Completed, GitError
from herdr.repo.isolated import CHECKOUT_TIMEOUT, Isolated, check
from herdr.repo.own import OwnRepository
from herdr.repo.refs_on_disk import BRANCHES, read_refs
from herdr.repo.takeover import bring, existing

#: Files in a worktree's part of its repository that say an operation was begun and not finished.
INTERRUPTED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "BISECT_LOG": "bisect",
}
#: Folders that are herdr's own in every run's worktree.
OWN_FOLDERS = (".herdr",)
#: Bytes of an index that are read; one of five million files has less.
INDEX_LIMIT = 1024**3
FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


class Leftovers(msgspec.Struct, frozen=True, kw_only=True):
    """What was found uncommitted.

    Attributes:
        commit: holds it; None when there was nothing.
        stashed: whether it comes from a stash, so that the worktree's files are not the commit's.
        interrupted: an operation that was begun and not finished.
        problems: what could not be put into the commit, a sentence each.
    """

    commit: Commit | None
    stashed: bool = False
    interrupted: str | None = None
    problems: tuple[str, ...] = ()


def interrupted(place: Isolated) -> str | None:
    """The merge, rebase, cherry-pick, revert or bisect that was begun in a worktree and not finished.

    Args:
        place: the run's folder.
    """
    return next((what for name, what in INTERRUPTED.items() if os.path.lexists(place.admin / name)), None)


def is_dirty(place: Isolated, own: OwnRepository, head: str | None, exclude: Sequence[str] = ()) -> bool:
    """Whether a worktree has uncommitted work.

    Args:
        place: the run's folder.
        own: the project's repository of herdr's own.
        head: the commit that the worktree stands on; None for an orphan branch.
        exclude: what is in the worktree but not the agent's work, relative to it.
    """
    with _staging(place, own, head, exclude) as staging:
        return staging.tree() is not None


def uncommitted(place: Isolated, own: OwnRepository, head: str, exclude: Sequence[str] = ()) -> list[str]:
    """The paths of the uncommitted work in a worktree.

    Args:
        place: the run's folder.
        own: the project's repository of herdr's own.
        head: the commit that the worktree stands on.
        exclude: what is in the worktree but not the agent's work, relative to it.
    """
    with _staging(place, own, head, exclude) as staging:
        tree = staging.tree()
        return own.run("diff-tree", "-r", "--name-only", "-z", head, tree).fields if tree is not None else []


def commit_leftovers(
    place: Isolated, own: OwnRepository, message: str, *, head: str | None, exclude: Sequence[str] = ()
) -> Leftovers:
    """Commit everything uncommitted in a run's worktree, on top of where it stands.

    Only for a worktree whose agent has ended. The commit is made in herdr's own repository; `stand_on` puts the
    run's HEAD onto it once it is pinned.

    Args:
        place: the run's folder.
        own: the project's repository of herdr's own.
        message: the commit's message.
        head: the commit that the worktree stands on, which herdr's own repository has; None for an orphan branch.
        exclude: what is in the worktree but not the agent's work (`link` paths), relative to it.

    Raises:
        NotOursError: the folder is not the worktree that herdr made.
        GitError: the work cannot be read.
    """
    check(place)
    commit = None
    with _staging(place, own, head, exclude) as staging:
        tree = staging.tree()
        if tree is not None:
            commit = own.commit_tree(tree, parents=[head] if head else [], message=message)
        problems = tuple(staging.problems)
    found = read_commit(own, commit) if commit is not None else None
    return Leftovers(commit=found, interrupted=interrupted(place), problems=problems)


def commit_stash(place: Isolated, own: OwnRepository, message: str, stash: str) -> Leftovers:
    """Make a commit of a stash, its untracked files too, on top of where it was made.

    Args:
        place: the run's folder.
        own: the project's repository of herdr's own.
        message: the commit's message.
        stash: the full id of the stash.
    """
    problems = bring(place.repository, own, stash)
    if not existing(own, [stash]):
        return Leftovers(commit=None, problems=tuple(problems))
    made = read_commit(own, stash)
    with own.throw_away() as name:
        index = Path(name) / "index"
        own.run("read-tree", made.tree, index=index)
        for untracked in made.parents[2:]:
            entries = own.run("ls-tree", "-r", "-z", "--full-tree", untracked).out
            own.run("update-index", "-z", "--index-info", index=index, input=entries)
        tree = own.run("write-tree", index=index).text
    commit = own.commit_tree(tree, parents=made.parents[:1], message=message)
    return Leftovers(commit=read_commit(own, commit), stashed=True, problems=tuple(problems))


def stand_on(place: Isolated, own: OwnRepository, commit: str) -> None:
    """Move a run's HEAD, and the branch that it is on, to a commit whose files its worktree has.

    Args:
        place: the run's folder, whose agent has ended.
        own: the project's repository of herdr's own.
        commit: the full id; the person's repository has it, so the run's does.

    Raises:
        NotOursError: the folder is not the worktree that herdr made.
    """
    check(place)
    clear_locks(place)
    branch = read_refs(place).branch
    with own.throw_away() as name:
        index = Path(name) / "index"
        own.run("read-tree", commit, work_tree=place.worktree, index=index)
        if own.snapshot.sparse:
            # What is not there is what the checkout leaves out.
            gone = own.run("ls-files", "-z", "--deleted", work_tree=place.worktree, index=index).out
            own.run("update-index", "-z", "--skip-worktree", "--stdin", work_tree=place.worktree, index=index,
                    input=gone)  # fmt: skip
        own.run("update-index", "-q", "--refresh", work_tree=place.worktree, index=index, check=False)
        if not is_usable(place):
            delete_entry(place.admin / "index")
        write_file(place.admin, "index", index.read_bytes())
    line = f"{commit}\n".encode()
    if branch is not None and branch.startswith(BRANCHES):
        try:
            write_file(place.repository, branch, line)
        except NotPlainError:
            # Something else is where the branch's file goes: a detached HEAD holds the work as well.
            branch = None
    if branch is None or not branch.startswith(BRANCHES):
        if is_folder(place.admin / "HEAD"):
            delete_entry(place.admin / "HEAD")
        write_file(place.admin, "HEAD", line)


def is_usable(place: Isolated) -> bool:
    """Whether a worktree's index is a file at all, so that no git waits for ever on opening it.

    Args:
        place: the run's folder.
    """
    return read_file(place.admin / "index", limit=1) is not None


def clear_locks(place: Isolated) -> None:
    """Delete the locks that a git left which was killed with its agent.

    Args:
        place: the run's folder, whose agent has ended.
    """
    delete_entry(place.admin / "index.lock")
    for name in ("HEAD.lock", "packed-refs.lock", "config.lock"):
        for folder in (place.admin, place.repository):
            delete_entry(folder / name)
    if is_folder(place.repository / "refs"):
        for parent, _, names in os.walk(place.repository / "refs", followlinks=False):
            for name in names:
                if name.endswith(".lock"):
                    delete_entry(Path(parent, name))


@contextlib.contextmanager
def _staging(place: Isolated, own: OwnRepository, head: str | None, exclude: Sequence[str]) -> Iterator[_Staging]:
    with own.throw_away() as name:
        yield _Staging(place, own, Path(name) / "index", head, exclude)


class _Staging:
    """An index of herdr's own, into which all that is in the worktree is put."""

    def __init__(
        self, place: Isolated, own: OwnRepository, index: Path, head: str | None, exclude: Sequence[str]
    ) -> None:
        self.problems: list[str] = []
        self._place, self._own, self._index, self._head = place, own, index, head
        shared = ["workspace"] if (place.worktree / "workspace").is_symlink() else []
        self._left_out = (*OWN_FOLDERS, *shared, *(path.rstrip("/") for path in exclude))
        self._nested: list[str] = []

    def tree(self) -> str | None:
        """The tree of the worktree; None when it is that of HEAD."""
        staged = self._begin()
        self._show_hidden()
        if not self._changes() and not staged and self._head is not None:
            return None
        self._try("add", "-A", "--sparse", "--ignore-errors", paths=None)
        # What the agent staged although it is ignored.
        forced = [path for path in staged if os.path.lexists(self._place.worktree / path)]
        self._try("add", "-f", "--sparse", "--ignore-errors", paths=forced)
        tree = self._run("write-tree").text
        if self._head is not None:
            return tree if self._run("diff-tree", "--quiet", self._head, tree, check=False).code else None
        return tree

    def _begin(self) -> list[str]:
        """Begin with the agent's index, which knows what did not change; gives what it staged, to be added anew.

        It may name objects that were not taken over, so whatever differs from HEAD is put back to that first.
        """
        content = read_file(self._place.admin / "index", limit=INDEX_LIMIT)
        if content is not None and self._head is not None:
            self._index.write_bytes(content)
            # By its time git knows which entries are too young to tell a changed file of the same size from.
            made = os.lstat(self._place.admin / "index").st_mtime_ns
            os.utime(self._index, ns=(made, made))
            try:
                names = ("diff-index", "--cached", "--name-only", "-z", "--no-renames", self._head)
                staged = self._run(*names).fields
                if staged:
                    literal = _lines([f":(top,literal){path}" for path in staged])
                    self._run("reset", "-q", *FROM_STDIN, self._head, input=literal)
            except GitError:
                self._index.unlink(missing_ok=True)
            else:
                return [path for path in staged if not self._is_left_out(path)]
        self._run("read-tree", *([self._head] if self._head else ["--empty"]))
        if self._own.snapshot.sparse:
            # Without an index nothing says which files the checkout leaves out, so none counts as deleted.
            self._flag("--skip-worktree", self._run("ls-files", "-z", "--deleted").fields)
        return []

    def _show_hidden(self) -> None:
        """Take away the flags that hide changes, which are not the agent's to set; no submodule is entered."""
        hidden, modules = [], []
        sparse = bool(self._own.snapshot.sparse)
        for field in self._run("ls-files", "-v", "-s", "-z").fields:
            head, _, path = field.partition("\t")
            flag, mode, _, _ = head.split(" ")
            if int(mode, 8) == SUBMODULE:
                # `git add` would run what the configuration of a nested repository names.
                modules.append(path)
            elif flag.islower() or (
                flag == "S" and not (sparse and not os.path.lexists(self._place.worktree / path))
            ):
                hidden.append(path)
        self._flag("--no-assume-unchanged", hidden)
        self._flag("--no-skip-worktree", hidden)
        self._flag("--skip-worktree", modules)

    def _changes(self) -> bool:
        """Whether a file is new, changed or gone; notes the repositories that lie in the worktree."""
        asked = ("ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")
        found = [path for path in self._run(*asked).fields if not self._is_left_out(path)]
        self._nested = [path.rstrip("/") for path in found if path.endswith("/")]
        self.problems += [f"{path} is a git repo of its own and was left out" for path in self._nested]
        return len(found) > len(self._nested)

    def _try(self, *command: str, paths: Sequence[str] | None) -> None:
        """Add paths, or all; what cannot be read is told, and costs nothing else."""
        if paths is not None and not paths:
            return
        wanted = [":(top)"] if paths is None else [f":(top,literal){path}" for path in paths]
        spared = [f":(top,exclude,literal){path}" for path in (*self._left_out, *self._nested)]
        done = self._run(*command, *FROM_STDIN, input=_lines([*wanted, *spared]), check=False)
        if done.code:
            self.problems += [line for line in done.err.splitlines() if line.startswith(("error:", "fatal:"))]

    def _is_left_out(self, path: str) -> bool:
        return any(path == one or path.startswith(f"{one}/") for one in self._left_out)

    def _flag(self, flag: str, paths: Sequence[str]) -> None:
        if paths:
            self._run("update-index", "-z", flag, "--stdin", input=_lines(paths))

    def _run(self, *command: str, input: bytes | None = None, check: bool = True) -> Completed:  # noqa: A002
        return self._own.run(
            *command,
            work_tree=self._place.worktree,
            index=self._index,
            input=input,
            check=check,
            timeout=CHECKOUT_TIMEOUT,
        )


def _lines(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
