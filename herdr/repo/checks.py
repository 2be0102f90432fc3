"""Is this a repo that herdr can work in, and what do its commits hold."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from herdr.errors import HerdrError, UsageError
from herdr.repo.git import GitError, run_git

if TYPE_CHECKING:
    import pygit2

#: `git merge-tree --write-tree` came with this version.
MINIMUM_GIT = (2, 38)

SYMLINK, SUBMODULE = 0o120000, 0o160000

#: libgit2 refuses repos with these; what it cannot read in them, `git` reads.
HARMLESS_EXTENSIONS = ["partialclone"]


class ChangedPath(msgspec.Struct, frozen=True, kw_only=True):
    """One path that differs between two commits; `status` is git's letter: A M D R T."""

    status: str
    path: str
    old_path: str
    mode: int
    old_mode: int

    @property
    def is_symlink(self) -> bool:
        """Whether the path is a symlink afterwards."""
        return self.mode == SYMLINK


@functools.lru_cache(maxsize=1)
def check_git() -> None:
    """Make sure that git is there and new enough.

    Raises:
        HerdrError: it is missing or older than 2.38.
    """
    said = run_git(Path("/"), "version").text
    found = re.search(r"(\d+)\.(\d+)", said)
    if found is None or (int(found[1]), int(found[2])) < MINIMUM_GIT:
        raise HerdrError(f"{said} is too old for herdr", fix="Install git 2.38 or newer.")


def find_root(path: Path) -> Path:
    """The root of the main checkout that `path` belongs to, also from a subfolder or a linked worktree.

    Raises:
        HerdrError: no such folder, not a repo, a bare repo, or git is missing or too old.
    """
    check_git()
    if not path.is_dir():
        raise UsageError(f"{path} is not a folder", fix="Name a folder inside a git repo.")
    questions = ("--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--git-common-dir")
    asked = run_git(path, "rev-parse", *questions, check=False)
    if asked.code != 0:
        if "not a git repository" in asked.err:
            raise UsageError(f"{path} is not inside a git repo", fix=f"Run: git init {path}")
        raise GitError(["rev-parse"], path, asked.err.strip())
    bare, inside, git_dir, common = asked.text.split("\n")
    if bare == "true":
        raise UsageError(f"{path} is a bare repo, without files to work on", fix="Use a clone of it.")
    if inside != "true":
        raise UsageError(f"{path} is inside a .git folder", fix="Name the folder that holds it.")
    if (path / common).resolve() == Path(git_dir).resolve():
        return Path(run_git(path, "rev-parse", "--show-toplevel").text)
    main = run_git(path, "worktree", "list", "--porcelain", "-z").fields
    if main[1] == "bare":
        raise UsageError(f"{path} is a worktree of a bare repo", fix="Use a clone with a checkout of its own.")
    return Path(main[0].removeprefix("worktree "))


def common_dir(root: Path) -> Path:
    """The git folder that all worktrees of the repo share."""
    return (root / run_git(root, "rev-parse", "--git-common-dir").text).resolve()


def open_repo(path: Path) -> pygit2.Repository:
    """Open a checkout or worktree for reading.

    Raises:
        HerdrError: it cannot be opened.
    """
    import pygit2

    # Not in every pygit2 that herdr supports; without it only repos with such an extension are refused.
    if hasattr(pygit2.settings, "set_extensions"):
        pygit2.settings.set_extensions(HARMLESS_EXTENSIONS)
    try:
        return pygit2.Repository(str(path))
    except (pygit2.GitError, KeyError) as error:
        raise HerdrError(f"cannot read the git repo at {path}: {error}", fix="Run: git status") from error


def head_commit(root: Path) -> str:
    """The full id of the commit that HEAD of this checkout or worktree names.

    Raises:
        HerdrError: the repo has no commits.
    """
    repo = open_repo(root)
    if repo.head_is_unborn:
        raise UsageError(
            f"the repo at {root} has no commits",
            fix='Commit something first: git add -A && git commit -m "start"',
        )
    return str(repo.head.target)


def resolve_commit(root: Path, rev: str) -> str:
    """The full id of the commit that a revision (branch, tag, short id, `HEAD~2`) names.

    Args:
        root: the repo, or one of its worktrees: `HEAD` is the HEAD of that one.
        rev: what a person or a row says; any revision that git understands.

    Raises:
        HerdrError: it names no commit here.
    """
    import pygit2

    try:
        return str(open_repo(root).revparse_single(rev).peel(pygit2.Commit).id)
    except (KeyError, ValueError, pygit2.GitError) as error:
        raise UsageError(f"{rev!r} names no commit in {root}", fix="See: git log --oneline --all") from error


def tree_of(root: Path, commit: str) -> str:
    """The id of a commit's tree: two commits with one tree are one candidate.

    Args:
        root: the repo, or one of its worktrees.
        commit: any revision.

    Raises:
        HerdrError: `commit` names no commit here.
    """
    import pygit2

    return str(open_repo(root)[resolve_commit(root, commit)].peel(pygit2.Tree).id)


def is_ancestor(root: Path, old: str, new: str) -> bool:
    """Whether the history of `new` holds `old`; a commit's history holds the commit itself.

    Args:
        root: the repo, or one of its worktrees.
        old: the commit to look for, any revision.
        new: the commit whose history is searched, any revision.

    Raises:
        HerdrError: one of them names no commit here.
    """
    old, new = resolve_commit(root, old), resolve_commit(root, new)
    return old == new or open_repo(root).descendant_of(new, old)


def is_dirty(root: Path, paths: Sequence[str] | None = None) -> bool:
    """Whether the checkout has uncommitted work: changes or files that are not ignored.

    Args:
        root: a checkout or worktree.
        paths: look only at these, relative to `root`.
    """
    chosen = [f":(top,literal){path}" for path in paths or ()]
    return bool(run_git(root, "status", "--porcelain", "-z", "--untracked-files=normal", "--", *chosen).out)


def changed_paths(root: Path, old: str, new: str) -> list[ChangedPath]:
    """What differs between two commits, renames found as git finds them.

    Args:
        root: the repo, or one of its worktrees.
        old: the commit before; its paths are the `old_path` of what was renamed.
        new: the commit after.
    """
    fields = run_git(root, "diff-tree", "-r", "-z", "-M", "--raw", old, new).fields
    changes = []
    words = iter(fields)
    for word in words:
        old_mode, mode, _, _, status = word.removeprefix(":").split(" ")
        old_path = next(words)
        path = next(words) if status[0] in "RC" else old_path
        changes.append(
            ChangedPath(
                status=status[0], path=path, old_path=old_path, mode=int(mode, 8), old_mode=int(old_mode, 8)
            )
        )
    return changes


def path_inside(folder: Path, relative: str) -> Path:
    """`folder / relative`, once sure that no `..`, absolute path or symlinked parent leads out of `folder`.

    Args:
        folder: the folder that the path must stay in, such as a worktree.
        relative: a path that somebody else wrote: a key of piloop.toml, or a file name of the repo.

    Raises:
        HerdrError: it would.
    """
    target = folder / relative
    parent = Path(os.path.realpath(target.parent))
    climbs = Path(relative).is_absolute() or ".." in Path(relative).parts or not Path(relative).parts
    if climbs or not parent.is_relative_to(os.path.realpath(folder)):
        raise UsageError(f"{relative!r} leads out of {folder}", fix="Name a path inside the repo.")
    return target
