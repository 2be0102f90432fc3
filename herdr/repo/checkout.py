"""What the person's checkout looks like, so that a change of it is seen; nothing there is written or obeyed.

Only what git knows counts: HEAD, refs, the files of `.git` that say what git does, and tracked files. Files that
do not differ from HEAD are known by the stat data of the index: a big repo costs one `lstat` for each file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from herdr.repo.files import read_file
from herdr.repo.git import GitError
from herdr.repo.own import OwnRepository

#: Refs that are herdr's: pins of all homes.
PINS = "refs/piloop/"
#: Seconds for looking at the tracked files.
LIMIT = 10.0
#: Files of the git folder that say what git does, beside the hooks; and how many bytes of one are read.
SAYING = ("config", "config.worktree")
SAYING_LIMIT = 4 * 1024 * 1024


class CheckoutState(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout at one moment.

    Attributes:
        head: the branch that HEAD is on, or the commit.
        refs: what each ref names, without herdr's pins.
        git_files: a hash of each file of `.git` that says what git does.
        files: for each tracked file that differs from HEAD, how it looks; None when that could not be found out.
        problem: why it could not.
    """

    head: str
    refs: dict[str, str]
    git_files: dict[str, str]
    files: dict[str, str] | None
    problem: str | None = None


def read_state(own: OwnRepository, limit: float = LIMIT) -> CheckoutState:
    """Look at the checkout.

    Args:
        own: the project's repository of herdr's own, whose git looks.
        limit: seconds for the tracked files.

    Raises:
        GitError: its refs cannot be read.
    """
    problem = None
    head, commit = _head(own)
    files: dict[str, str] | None = None
    try:
        files = _differing(own, commit, limit) if commit else None
    except (GitError, OSError) as error:
        problem = error.reason if isinstance(error, GitError) else f"{error}"
    return CheckoutState(head=head, refs=_refs(own), git_files=_saying(own.common), files=files, problem=problem)


def changes_between(before: CheckoutState, now: CheckoutState) -> list[str]:
    """What differs, each by its name: HEAD first, then refs, files of `.git`, and tracked files.

    Args:
        before: the earlier state.
        now: the later one.
    """
    head = [f"HEAD (was {_short(before.head)}, is {_short(now.head)})"] if before.head != now.head else []
    refs = [_moved(name, before.refs, now.refs) for name in _differ(before.refs, now.refs)]
    saying = [f".git/{name}" for name in _differ(before.git_files, now.git_files)]
    known = before.files is not None and now.files is not None
    return [*head, *refs, *saying, *(_differ(before.files or {}, now.files or {}) if known else ())]


def _differ(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    return (name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name))


def _moved(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> str:
    if name not in now:
        return f"{name} (gone, was {_short(before[name])})"
    return f"{name} ({_short(before[name])} to {_short(now[name])})" if name in before else f"{name} (new)"


def _short(name: str) -> str:
    return name[:8] if len(name) >= 40 and name.isalnum() else name.removeprefix("refs/heads/")


def _head(own: OwnRepository) -> tuple[str, str | None]:
    """What HEAD is on, and the commit; None on a branch without any."""
    named = own.run_in_persons("symbolic-ref", "-q", "HEAD", check=False).text
    commit = own.run_in_persons("rev-parse", "-q", "--verify", "HEAD", check=False).text or None
    return named or commit or "nothing", commit


def _refs(own: OwnRepository) -> dict[str, str]:
    listed = own.run_in_persons("for-each-ref", "--format=%(objectname) %(refname)").text.splitlines()
    pairs = (line.split(" ", 1) for line in listed)
    return {name: sha for sha, name in pairs if not name.startswith(PINS)}


def _saying(common: Path) -> dict[str, str]:
    try:
        hooks = sorted(path.name for path in Path(common, "hooks").iterdir() if path.suffix != ".sample")
    except OSError:
        hooks = []
    names = [f"hooks/{name}" for name in hooks]
    found = {name: read_file(common / name, limit=SAYING_LIMIT) for name in (*SAYING, *names)}
    return {name: _hash(content) for name, content in found.items() if content is not None}


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _differing(own: OwnRepository, commit: str, limit: float) -> dict[str, str]:
    """The tracked files that differ from HEAD, with a copy of the person's index: git refreshes that."""
    with own.throw_away() as folder:
        index = Path(folder, "index")
        # With its time: by that git knows which files may have changed within the same moment.
        shutil.copy2(own.common / "index", index)
        options = ("-q", "--refresh", "--ignore-submodules")
        own.run("update-index", *options, work_tree=own.root, index=index, check=False, timeout=limit)
        asked = ("diff-index", "--raw", "--no-abbrev", "--no-renames", "-z", "--ignore-submodules=all", commit)
        told = own.run(*asked, "--", work_tree=own.root, index=index, timeout=limit).fields
    return {name: _look(own.root / name, said) for said, name in zip(told[::2], told[1::2], strict=True)}


def _look(path: Path, said: str) -> str:
    """How a file looks that differs: what is staged, and, when that is not what is there, its size and time."""
    _, _, _, staged, letter = said.split(" ")
    if staged.strip("0"):
        return f"{letter} {staged}"
    try:
        found = os.lstat(path)
    except OSError:
        return f"{letter} gone"
    return f"{letter} {found.st_mode:o} {found.st_size} {found.st_mtime_ns}"
