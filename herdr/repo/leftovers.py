"""What an agent left uncommitted: committed separately, on top of where it stood, without its git being run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from herdr.repo.checks import SUBMODULE
from herdr.repo.commits import Commit, read_commit, tree_of
from herdr.repo.git import GitError
from herdr.repo.isolated import CHECKOUT_TIMEOUT, Isolated, check, read_file
from herdr.repo.own import OwnRepository
from herdr.repo.refs_on_disk import read_refs
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


class Leftovers(msgspec.Struct, frozen=True, kw_only=True):
    """What was found uncommitted.

    `commit` holds it (None when there was nothing), `interrupted` names an operation that was begun and
    not finished, `problems` says what could not be put into the commit.
    """

    commit: Commit | None
    interrupted: str | None = None
    problems: tuple[str, ...] = ()


def interrupted(place: Isolated) -> str | None:
    """The merge, rebase, cherry-pick, revert or bisect that was begun in a worktree and not finished.

    Args:
        place: the run's folder.
    """
    return next((what for name, what in INTERRUPTED.items() if os.path.lexists(place.admin / name)), None)


def is_dirty(place: Isolated, own: OwnRepository, exclude: Sequence[str] = ()) -> bool:
    """Whether a worktree has uncommitted work.

    Args:
        place: the run's folder.
        own: the project's repository of herdr's own.
        exclude: what is in the worktree but not the agent's work, relative to it.
    """
    head = read_refs(place).head
    with _staged(place, own, head, exclude) as (_, tree, _problems):
        return head is None or tree != tree_of(own, head)


def commit_leftovers(
    place: Isolated, own: OwnRepository, message: str, *, exclude: Sequence[str] = (), stash: bool = True
) -> Leftovers:
    """Commit everything uncommitted in a run's worktree, on top of HEAD and never into an existing commit.

    Only for a worktree whose agent has ended. The commit is made in herdr's own repository; `stand_on` puts the run's
    HEAD onto it once it is pinned.

    Args:
        place: the run's folder.
        own: the project's repository of herdr's own.
        message: the commit's message.
        exclude: what is in the worktree but not the agent's work (`link` paths), relative to it.
        stash: whether the newest stash is work, where nothing else is.

    Raises:
        NotOursError: the folder is not the worktree that herdr made.
        GitError: the work cannot be read.
    """
    check(place)
    unfinished = interrupted(place)
    refs = read_refs(place)
    head = refs.head if refs.head is not None and existing(own, [refs.head]) else None
    with _staged(place, own, head, exclude) as (_, tree, problems):
        if head is not None and tree == tree_of(own, head):
            return _stashed(place, own, refs.stash if stash else None, unfinished, problems)
        commit = own.commit_tree(tree, parents=[head] if head else [], message=message)
    return Leftovers(commit=read_commit(own, commit), interrupted=unfinished, problems=tuple(problems))


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
    refs = read_refs(place)
    # Its owner has ended, killed perhaps in the middle of a git command.
    for lock in ("index.lock", "HEAD.lock"):
        (place.admin / lock).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=own.path, prefix="stand-") as folder:
        index = Path(folder) / "index"
        own.run("read-tree", commit, work_tree=place.worktree, index=index)
        own.run("update-index", "-q", "--refresh", work_tree=place.worktree, index=index, check=False)
        _put(place.admin / "index", index.read_bytes())
    line = f"{commit}\n".encode()
    if refs.branch is None or not refs.branch.startswith("refs/heads/"):
        _put(place.admin / "HEAD", line)
        return
    ref = place.repository / refs.branch
    Path(f"{ref}.lock").unlink(missing_ok=True)
    try:
        _make_folders(place.repository, ref.parent)
        _put(ref, line)
    except OSError:
        # Something else is where the branch's file goes: a detached HEAD holds the work as well.
        _put(place.admin / "HEAD", line)


class _staged:  # noqa: N801 - a context manager, used as a function
    """An index with all that is in the worktree: (its path, its tree, what could not be put into it)."""

    def __init__(self, place: Isolated, own: OwnRepository, head: str | None, exclude: Sequence[str]) -> None:
        self._place, self._own, self._head, self._exclude = place, own, head, exclude
        self._folder = tempfile.TemporaryDirectory(dir=own.path, prefix="stage-")

    def __enter__(self) -> tuple[Path, str, list[str]]:
        try:
            index = Path(self._folder.name) / "index"
            problems = _stage(self._place, self._own, index, self._head, self._exclude)
            tree = self._own.run("write-tree", index=index).text
        except BaseException:
            self._folder.cleanup()
            raise
        return index, tree, problems

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def _stage(
    place: Isolated, own: OwnRepository, index: Path, head: str | None, exclude: Sequence[str]
) -> list[str]:
    forced = _start_index(place, own, index, head)
    entries = list(_entries(place, own, index))
    modules = [path for mode, _, path in entries if mode == SUBMODULE]
    if modules:
        # `git add` would run what the configuration of a nested repository names.
        skip = ("update-index", "-z", "--skip-worktree", "--stdin")
        own.run(*skip, work_tree=place.worktree, index=index, input=_lines(modules))
    others = ("ls-files", "-z", "--others", "--exclude-standard")
    untracked = own.run(*others, work_tree=place.worktree, index=index).fields
    nested = [path.rstrip("/") for path in untracked if path.endswith("/")]
    left_out = [f":(top,exclude,literal){path}" for path in (*OWN_FOLDERS, *_shared(place), *exclude, *nested)]
    problems = [f"{path} is a git repo of its own and was left out" for path in nested]
    add = ("add", "-A", "--ignore-errors", "--", ":(top)", *left_out)
    problems += _try(own, place, index, *add)
    if forced:
        spec = ("--pathspec-from-file=-", "--pathspec-file-nul")
        there = [path for path in forced if os.path.lexists(place.worktree / path)]
        if there:
            literal = _lines([f":(top,literal){path}" for path in there])
            problems += _try(own, place, index, "add", "-f", "--ignore-errors", *spec, input=literal)
    # The agent may have staged them by itself.
    drop = [path for path in (*OWN_FOLDERS, *_shared(place), *exclude)]
    _restore(place, own, index, head, drop)
    return problems


def _start_index(place: Isolated, own: OwnRepository, index: Path, head: str | None) -> list[str]:
    """Begin with the agent's index, which knows what did not change; gives what it staged, to be added anew.

    It may name objects that were not taken over, so whatever differs from HEAD is put back to that first.
    """
    content = _content(place.admin / "index")
    if content is not None and head is not None:
        index.write_bytes(content)
        try:
            changed = own.run(
                "diff-index", "--cached", "--name-only", "-z", "--no-renames", head, index=index
            ).fields
            _restore(place, own, index, head, changed)
            # A flag that hides changes is not the agent's to set.
            own.run("update-index", "-z", "--no-assume-unchanged", "--stdin", work_tree=place.worktree, index=index,
                    input=_lines(_hidden(own, index)))  # fmt: skip
            own.run("update-index", "-z", "--no-skip-worktree", "--stdin", work_tree=place.worktree, index=index,
                    input=_lines(_hidden(own, index)))  # fmt: skip
        except GitError:
            index.unlink(missing_ok=True)
        else:
            return changed
    own.run("read-tree", *([head] if head else ["--empty"]), index=index)
    return []


def _hidden(own: OwnRepository, index: Path) -> list[str]:
    listed = own.run("ls-files", "-v", "-z", index=index).fields
    return [field[2:] for field in listed if field[0].islower() or field[0] == "S"]


def _restore(place: Isolated, own: OwnRepository, index: Path, head: str | None, paths: Sequence[str]) -> None:
    """Put entries of the index back to what HEAD has."""
    if not paths:
        return
    if head is None:
        own.run("update-index", "-z", "--force-remove", "--stdin", work_tree=place.worktree, index=index,
                input=_lines(paths))  # fmt: skip
        return
    spec = ("--pathspec-from-file=-", "--pathspec-file-nul")
    literal = _lines([f":(top,literal){path}" for path in paths])
    own.run("reset", "-q", *spec, head, work_tree=place.worktree, index=index, input=literal)


def _entries(place: Isolated, own: OwnRepository, index: Path) -> Iterator[tuple[int, str, str]]:
    for field in own.run("ls-files", "-s", "-z", work_tree=place.worktree, index=index).fields:
        head, _, path = field.partition("\t")
        mode, sha, _ = head.split(" ")
        yield int(mode, 8), sha, path


def _shared(place: Isolated) -> list[str]:
    return ["workspace"] if (place.worktree / "workspace").is_symlink() else []


def _try(
    own: OwnRepository, place: Isolated, index: Path, *command: str, input: bytes | None = None
) -> list[str]:
    done = own.run(
        *command, work_tree=place.worktree, index=index, check=False, timeout=CHECKOUT_TIMEOUT, input=input
    )
    if done.code == 0:
        return []
    return [line for line in done.err.splitlines() if line.startswith(("error:", "fatal:"))]


def _stashed(
    place: Isolated, own: OwnRepository, stash: str | None, unfinished: str | None, problems: list[str]
) -> Leftovers:
    """A stash that is all that is left is work as well."""
    commit = None
    if stash is not None:
        problems += bring(place.repository / "objects", own, [stash])
        commit = read_commit(own, stash) if existing(own, [stash]) else None
    return Leftovers(commit=commit, interrupted=unfinished, problems=tuple(problems))


def _content(path: Path) -> bytes | None:
    return read_file(path, limit=None)


def _put(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".herdr-{os.getpid()}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    fresh.replace(path)


def _make_folders(top: Path, folder: Path) -> None:
    """Make the folders down to one, through none that is a link."""
    for parent in [*reversed(folder.relative_to(top).parents[:-1]), folder.relative_to(top)]:
        path = top / parent
        if path.is_symlink():
            raise NotADirectoryError(path)
        path.mkdir(exist_ok=True)


def _lines(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
