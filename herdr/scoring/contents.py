"""What the evaluator's files hold once checked out: recorded when it is defined, compared at each scoring.

The bytes are hashed anew each time. Git does not look whether an object is what its id says when it reads one,
and attributes or filters may make something else of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from herdr.errors import HerdrError
from herdr.files import Folder, NotPlainError, open_below
from herdr.repo.overlay import check_out
from herdr.repo.own import OwnRepository

CHUNK = 1024 * 1024
#: How many files an error names.
NAMED = 5


class EvaluatorDiffersError(HerdrError):
    """The evaluator's files, as they lie in the scoring's folder, are not what its definition recorded."""


def record(own: OwnRepository, commit: str, paths: Iterable[str]) -> dict[str, str]:
    """Check some files of a commit out and say what each holds: its kind and a hash of its bytes.

    Args:
        own: the project's repository of herdr's own.
        commit: the commit.
        paths: the files, relative to the repo's root.
    """
    files = sorted(paths)
    with tempfile.TemporaryDirectory(dir=own.path, prefix=".contents-") as folder:
        check_out(own, commit, files, Path(folder))
        found = {path: content_of(Path(folder) / "files", path) for path in files}
    return {path: content for path, content in found.items() if content is not None}


def compare(worktree: Path, recorded: Mapping[str, str]) -> None:
    """Make sure that a worktree has the evaluator's files, byte for byte.

    Args:
        worktree: where they were laid.
        recorded: what `record` said of each.

    Raises:
        EvaluatorDiffersError: one is gone or holds something else; names it.
    """
    differ = [path for path, content in sorted(recorded.items()) if content_of(worktree, path) != content]
    if differ:
        more = f" and {len(differ) - NAMED} more" if len(differ) > NAMED else ""
        raise EvaluatorDiffersError(
            f"the evaluator's {', '.join(differ[:NAMED])}{more}, as checked out, is not what was recorded for it",
            fix="nothing is scored with it; look for who changed git's objects, attributes or filters, and run"
            " `herdr init` if you did",
        )


def content_of(folder: Path, path: str) -> str | None:
    """What a file or link holds: its kind and a hash; None when it is neither, or a link leads to it.

    Args:
        folder: the folder that `path` is relative to.
        path: the file.
    """
    *parents, name = PurePosixPath(path).parts
    try:
        with contextlib.ExitStack() as stack:
            here = stack.enter_context(Folder.open(folder))
            if parents:
                here = stack.enter_context(open_below(here, *parents))
            mode = os.lstat(name, dir_fd=here.descriptor).st_mode
            if stat.S_ISLNK(mode):
                target = os.fsencode(os.readlink(name, dir_fd=here.descriptor))
                return f"link {hashlib.sha256(target).hexdigest()}"
            kind = "program" if mode & stat.S_IXUSR else "file"
            return f"{kind} {_hash(here.open_file(name))}"
    except (OSError, NotPlainError):
        return None


def _hash(descriptor: int) -> str:
    digest = hashlib.sha256()
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
