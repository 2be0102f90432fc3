"""Is this a repo that herdr can work in, and what do its commits hold."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from pathlib import Path

from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.repo.git import GitError, run_git

#: `git merge-tree --write-tree` came with this version.
MINIMUM_GIT = (2, 38)

SYMLINK, SUBMODULE = 0o120000, 0o160000


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
        checkout = _around(Path(run_git(path, "rev-parse", "--show-toplevel").text))
        if checkout is not None:
            return find_root(checkout)
        raise UsageError(f"{path} is a worktree of a bare repo", fix="Use a clone with a checkout of its own.")
    return Path(main[0].removeprefix("worktree "))


def _around(worktree: Path) -> Path | None:
    """The checkout in whose `.worktrees` the worktree of a run lies, which hangs on a repository of its own."""
    checkout = worktree.parent.parent
    return checkout if worktree.parent.name == ".worktrees" and (checkout / ".git").exists() else None


def common_dir(root: Path) -> Path:
    """The git folder that all worktrees of the repo share."""
    return (root / run_git(root, "rev-parse", "--git-common-dir").text).resolve()


def head_commit(root: Path) -> str:
    """The full id of the commit that HEAD of this checkout or worktree names.

    Raises:
        HerdrError: the repo has no commits.
    """
    found = _commit(root, "HEAD")
    if found is None:
        raise UsageError(
            f"the repo at {root} has no commits",
            fix='Commit something first: git add -A && git commit -m "start"',
        )
    return found


def resolve_commit(root: Path, rev: str) -> str:
    """The full id of the commit that a revision (branch, tag, short id, `HEAD~2`) names.

    Args:
        root: a checkout.
        rev: the revision.

    Raises:
        HerdrError: it names no commit here.
    """
    found = _commit(root, rev) if rev else None
    if found is None:
        raise UsageError(f"{rev!r} names no commit in {root}", fix="See: git log --oneline --all")
    return found


def _commit(root: Path, rev: str) -> str | None:
    asked = ("rev-parse", "-q", "--verify", "--end-of-options", f"{rev}^{{commit}}")
    done = run_git(root, *asked, check=False, env={"GIT_NO_REPLACE_OBJECTS": "1"})
    return done.text if done.code == 0 else None


def hooks_folder(root: Path) -> Path:
    """Where the hooks of the person's repo are, which run for their own commits."""
    return root / run_git(root, "rev-parse", "--git-path", "hooks", as_user=True).text


def too_old() -> list[str]:
    """What the git of this machine is too old for, a sentence each: herdr works, and is not as safe there."""
    said = run_git(Path("/"), "version").text
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", said)
    if found is None:
        return []
    major, minor, patch = (int(number or 0) for number in found.groups())
    # It came with 2.45, and with the security releases of that day.
    mended = {39: 4, 40: 2, 41: 1, 42: 2, 43: 4, 44: 1}
    if (major, minor) >= (2, 45) or (major == 2 and minor in mended and patch >= mended[minor]):
        return []
    return [
        f"{said} cannot be told to fetch nothing (GIT_NO_LAZY_FETCH), which matters in a partial clone: 2.45 can"
    ]


def refuse(root: Path) -> None:
    """Make sure that the repository is of a kind that herdr can work in.

    Args:
        root: the checkout.

    Raises:
        RefusedError: it is not; says what is in the way.
    """
    if run_git(root, "config", "--get", "lfs.storage", check=False).code == 0:
        raise RefusedError(
            f"git-lfs keeps the files of {root} elsewhere (lfs.storage), and the git of agents would write there",
            fix=f"move them to {common_dir(root) / 'lfs'}, and run: git config --unset lfs.storage",
        )
    if any(sign in str(common_dir(root)) for sign in "\n\r"):
        raise RefusedError(
            f"the path {str(root)!r} has a line break in it, which git cannot note as a place of objects",
            fix="Rename the folder.",
        )


def is_dirty(root: Path, paths: Sequence[str] | None = None) -> bool:
    """Whether the checkout has uncommitted work: changes or files that are not ignored.

    Args:
        root: a checkout or worktree.
        paths: look only at these, relative to `root`.
    """
    chosen = [f":(top,literal){path}" for path in paths or ()]
    return bool(run_git(root, "status", "--porcelain", "-z", "--untracked-files=normal", "--", *chosen).out)


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
