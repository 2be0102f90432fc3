"""What HEAD and the refs of a run's repository name, and have named, read as files.

Git is not run in a repository that an agent can write to, and a plain file cannot be anything but what it says.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from herdr.repo.files import is_folder, read_file
from herdr.repo.isolated import Isolated

#: A full object id, of SHA-1 or SHA-256, and the one that stands for none.
_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NONE = re.compile(r"0+")
#: What git allows in no ref, see `git check-ref-format`; anything else could lead out of the repository.
_NO_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|[/.]$")
BRANCHES = "refs/heads/"
#: Bytes of a reflog, or of all packed refs, that are read: the newest of a longer one.
LOG_LIMIT = 4 * 1024 * 1024
#: How many files of refs, and of reflogs, are looked at.
FILES = 50_000
#: How many folders of refs are looked at to see whether one has moved.
FOLDERS = 64
#: How far a symbolic ref is followed.
HOPS = 5


class Refs(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository's refs say.

    Attributes:
        head: the commit that HEAD stands on; None when there is none.
        branch: the ref that HEAD names, such as `refs/heads/x`; None when it is detached, or cannot be read.
        tips: the commits that branches, and the HEADs of further worktrees, name.
        stood_on: the commits that HEAD or a branch has named according to the reflogs, the oldest first.
        stash: the newest stash.
        problems: what could not be read, a sentence each.
    """

    head: str | None
    branch: str | None
    tips: tuple[str, ...] = ()
    stood_on: tuple[str, ...] = ()
    stash: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def commits(self) -> list[str]:
        """All that HEAD and branches name or have named, each once."""
        return list(dict.fromkeys(sha for sha in (self.head, *self.tips, *self.stood_on) if sha is not None))


def read_refs(place: Isolated) -> Refs:
    """Read the refs of a run's repository.

    Args:
        place: the run's folder; the repository alone is looked at.
    """
    problems: list[str] = []
    named = _packed(place.repository) | _loose(place.repository, problems)
    branch, head = _head(place.repository, read_file(place.admin / "HEAD"), named)
    if head is None and branch is None:
        problems.append("HEAD of the run's repository cannot be read")
    tips = [sha for name, sha in named.items() if name.startswith(BRANCHES)]
    logs = [place.repository / "logs/HEAD"]
    for folder in _worktrees(place):
        tips += filter(None, [_head(place.repository, read_file(folder / "HEAD"), named)[1]])
        logs.append(folder / "logs/HEAD")
    logs += _files(place.repository / "logs/refs/heads", problems)
    entries = sorted(entry for path in logs for entry in _log(path))
    return Refs(
        head=head,
        branch=branch,
        tips=tuple(dict.fromkeys(tips)),
        stood_on=tuple(dict.fromkeys(sha for _, _, sha in entries)),
        stash=named.get("refs/stash"),
        problems=tuple(problems),
    )


def version(place: Isolated) -> tuple[int, ...]:
    """Changes whenever HEAD or a branch of the run's repository has moved; costs a few stats.

    Args:
        place: the run's folder.
    """
    paths = [place.admin / "logs/HEAD", place.admin / "HEAD", place.repository / "packed-refs"]
    for top in ("refs", "logs/refs"):
        if is_folder(place.repository / top):
            # A ref is written by a rename, which changes its folder.
            walk = os.walk(place.repository / top, followlinks=False)
            paths += [Path(parent) for parent, _, _ in itertools.islice(walk, FOLDERS)]
    return tuple(_changed_at(path) for path in paths)


def _changed_at(path: Path) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0


def _worktrees(place: Isolated) -> list[Path]:
    """The worktrees of the repository: the run's own, and those that an agent has made."""
    top = place.admin.parent
    if not is_folder(top):
        return []
    with os.scandir(top) as entries:
        names = sorted(entry.name for entry in itertools.islice(entries, FOLDERS))
    return [top / name for name in names if is_folder(top / name)]


def _head(repository: Path, content: bytes | None, named: dict[str, str]) -> tuple[str | None, str | None]:
    """The ref that a HEAD names, and the commit."""
    branch = None
    for _ in range(HOPS):
        if content is None or not content.startswith(b"ref:"):
            found = _ID.match(content or b"")
            return branch, found[0].decode() if found else None
        name = os.fsdecode(content[4:].strip())
        if not name.startswith("refs/") or _NO_REF.search(name):
            return None, None
        branch = name
        if branch in named:
            return branch, named[branch]
        content = read_file(repository / branch)
    return branch, None


def _packed(repository: Path) -> dict[str, str]:
    content = read_file(repository / "packed-refs", limit=LOG_LIMIT) or b""
    found = {}
    for line in content.splitlines():
        sha, _, name = line.partition(b" ")
        if _ID.fullmatch(sha) and name.startswith(b"refs/"):
            found[os.fsdecode(name)] = sha.decode()
    return found


def _loose(repository: Path, problems: list[str]) -> dict[str, str]:
    found = {}
    for path in _files(repository / "refs", problems):
        name = os.fsdecode(os.path.relpath(path, repository))
        content = read_file(path)
        sha = _ID.match(content or b"")
        if sha is not None:
            found[name] = sha[0].decode()
        elif content is None or not content.startswith(b"ref:"):
            problems.append(f"{name} of the run's repository cannot be read")
    return found


def _log(path: Path) -> Iterator[tuple[int, int, str]]:
    """The entries of a reflog: when, which line, and the commit that it says the ref went to."""
    content = read_file(path, limit=LOG_LIMIT, end=True) or b""
    for number, line in enumerate(content.splitlines()):
        words = line.partition(b"\t")[0].split(b" ")
        if len(words) < 2 or not _ID.fullmatch(words[1]) or _NONE.fullmatch(words[1].decode()):
            continue
        # The first word is where the ref came from: the line before says it, or it is not the run's.
        when = words[-2] if len(words) > 3 and words[-2].isdigit() else b"0"
        yield int(when[:18]), number, words[1].decode()


def _files(folder: Path, problems: list[str]) -> Iterator[Path]:
    """What is no folder below a folder, sorted; links are not followed."""
    if not is_folder(folder):
        return
    count = 0
    for parent, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        for name in sorted(names):
            count += 1
            if count > FILES:
                problems.append(
                    f"the run's repository has more than {FILES} refs, of which the others are left out"
                )
                return
            if not name.endswith(".lock"):
                yield Path(parent, name)
