"""Lays the evaluator's protected files over a candidate, so that what scores is never what was edited."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from herdr.repo.checks import SUBMODULE, SYMLINK
from herdr.repo.commits import changed_paths
from herdr.repo.files import delete_tree
from herdr.repo.isolated import CHECKOUT_TIMEOUT, Isolated
from herdr.repo.own import OwnRepository
from herdr.repo.submodules import init_submodules

#: A tree entry: its mode, and the id of its blob or of the submodule's commit.
Entry = tuple[int, str]


class Protected:
    """Says whether a path is protected.

    Patterns are gitignore's, but always seen from the repo's root: `evaluate.py` is that one file, not
    every file of that name; `data/` is all in that folder; `**/*.csv` is every such file.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._exact = frozenset(patterns)
        self._spec = GitIgnoreSpec.from_lines(_anchored(pattern) for pattern in patterns)

    def covers(self, path: str, mode: int) -> bool:
        """Whether the entry at `path` is protected: a link in place of a protected folder is, too.

        Args:
            path: relative to the repo's root.
            mode: git's mode of the entry, which tells a symlink or a submodule from a file.
        """
        if path in self._exact or self._spec.match_file(path):
            return True
        return mode in (SYMLINK, SUBMODULE) and self._spec.match_file(f"{path}/")


def touched(own: OwnRepository, evaluator: str, candidate: str, paths: Sequence[str]) -> list[str]:
    """The protected paths in which a candidate differs from the evaluator's commit, sorted.

    Args:
        own: the project's repository of herdr's own.
        evaluator: the commit that the evaluator's files come from.
        candidate: the commit to judge.
        paths: the `protect` patterns, relative to the repo's root.
    """
    protected = Protected(paths)
    found: set[str] = set()
    for change in changed_paths(own, evaluator, candidate):
        sides = ((change.old_path, change.old_mode), (change.path, change.mode))
        found.update(path for path, mode in sides if mode and protected.covers(path, mode))
    return sorted(found)


def protected_entries(own: OwnRepository, commit: str, paths: Sequence[str]) -> dict[str, Entry]:
    """The protected entries of a commit by path: each one's mode and the id of its content.

    Args:
        own: the project's repository of herdr's own.
        commit: the evaluator's commit.
        paths: the `protect` patterns, relative to the repo's root.
    """
    protected = Protected(paths)
    return {path: entry for path, entry in _entries_of_commit(own, commit) if protected.covers(path, entry[0])}


def overlay(place: Isolated, own: OwnRepository, *, candidate: str, commit: str, paths: Sequence[str]) -> None:
    """Give a fresh scoring worktree the protected files of `commit`: content, mode, presence.

    A protected path that `commit` does not have is removed. Whatever the candidate put in the way (a
    symlink or a folder in place of a file, a symlink in place of a parent folder) is replaced, never
    written through. Git filters apply as the evaluator's own `.gitattributes` says. Links and other
    furniture come after the overlay.

    Args:
        place: the candidate, just checked out.
        own: the project's repository of herdr's own.
        candidate: the candidate's commit.
        commit: the evaluator's commit.
        paths: the `protect` patterns, relative to the repo's root.
    """
    worktree = place.worktree
    wanted = protected_entries(own, commit, paths)
    present = protected_entries(own, candidate, paths)
    for path in present.keys() - wanted.keys():
        _clear(worktree, path)
        _drop_empty_parents(worktree, path)
    files = [path for path, (mode, _) in wanted.items() if mode != SUBMODULE]
    with tempfile.TemporaryDirectory(dir=worktree.parent, prefix=".overlay-") as temporary:
        check_out(own, commit, files, Path(temporary))
        for path in files:
            _clear(worktree, path)
            _make_parents(worktree, path)
            (Path(temporary) / "files" / path).rename(worktree / path)
    modules = [path for path, entry in wanted.items() if entry[0] == SUBMODULE and present.get(path) != entry]
    _lay_submodules(place, own, {path: wanted[path][1] for path in modules})


def _anchored(pattern: str) -> str:
    negation = "!" if pattern.startswith("!") else ""
    return f"{negation}/{pattern.removeprefix('!').lstrip('/')}"


def _entries_of_commit(own: OwnRepository, commit: str) -> Iterator[tuple[str, Entry]]:
    for field in own.run("ls-tree", "-r", "-z", "--full-tree", commit).fields:
        head, _, path = field.partition("\t")
        mode, _, blob = head.split(" ")
        yield path, (int(mode, 8), blob)


def check_out(own: OwnRepository, commit: str, files: Sequence[str], folder: Path) -> None:
    """Write some files of a commit, by the rules of its own attributes.

    Args:
        own: the project's repository of herdr's own.
        commit: the commit.
        files: which of its files, relative to the repo's root.
        folder: an empty folder; they come into `files` in it.
    """
    # A work tree and an index of its own: the candidate's .gitattributes have no say in what is written.
    (folder / "files").mkdir()
    files_folder, index = folder / "files", folder / "index"
    own.run("read-tree", commit, work_tree=files_folder, index=index)
    own.run(
        *("checkout-index", "-z", "--stdin", "--force"),
        work_tree=files_folder,
        index=index,
        input=b"".join(os.fsencode(path) + b"\0" for path in files),
        timeout=CHECKOUT_TIMEOUT,
    )


def _clear(worktree: Path, path: str) -> None:
    for parent in reversed(PurePosixPath(path).parents):
        if (worktree / parent).is_symlink() or not (worktree / parent).is_dir():
            return
    target = worktree / path
    if target.is_dir() and not target.is_symlink():
        delete_tree(target)
    else:
        target.unlink(missing_ok=True)


def _drop_empty_parents(worktree: Path, path: str) -> None:
    # As git does, which knows no empty folders: their presence could tell the evaluator something.
    with contextlib.suppress(OSError):
        for parent in PurePosixPath(path).parents[:-1]:
            (worktree / parent).rmdir()


def _make_parents(worktree: Path, path: str) -> None:
    for parent in reversed(PurePosixPath(path).parents):
        folder = worktree / parent
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            folder.unlink()
        folder.mkdir(exist_ok=True)


def _lay_submodules(place: Isolated, own: OwnRepository, commits: dict[str, str]) -> None:
    if not commits:
        return
    for path, commit in commits.items():
        _clear(place.worktree, path)
        _make_parents(place.worktree, path)
        (place.worktree / path).mkdir()
        entry = f"160000,{commit},{path}"
        index = place.admin / "index"
        own.run("update-index", "--add", "--replace", "--cacheinfo", entry, work_tree=place.worktree, index=index)
    init_submodules(place.worktree, own, root=own.root, common=own.common)
