"""Pins: refs under `refs/piloop/<project>/` that keep every candidate's commit from being pruned."""

from __future__ import annotations

from pathlib import Path

from herdr.errors import RefusedError
from herdr.repo.git import run_git
from herdr.repo.names import slug

NEVER_EXISTED = "0" * 40


def pin(root: Path, project: str, name: str, commit: str) -> None:
    """Keep `commit` under `refs/piloop/<project>/<name>`; pinning it again is fine.

    Args:
        root: the repo.
        project: the project's name.
        name: what the pin is for: `run-7/2`, `candidate/30`, `merge/30`.
        commit: a full commit id.

    Raises:
        RefusedError: the name pins another commit, which would be lost.
        GitError: git refuses the name or the commit.
    """
    ref = pin_ref(project, name)
    if run_git(root, "update-ref", ref, commit, NEVER_EXISTED, check=False).code == 0:
        return
    known = run_git(root, "rev-parse", "-q", "--verify", ref, check=False).text
    if known and known != commit:
        raise RefusedError(
            f"{ref} already pins {known}", fix=f"If that may go: git -C {root} update-ref -d {ref}"
        )
    if not known:
        run_git(root, "update-ref", ref, commit)


def pinned(root: Path, project: str) -> dict[str, str]:
    """The commit of every pin of the project, by the pin's name.

    Args:
        root: the repo.
        project: the project's name.
    """
    prefix = pin_ref(project, "")
    listed = run_git(root, "for-each-ref", "--format=%(objectname) %(refname)", prefix).text
    pairs = (line.split(" ", 1) for line in listed.splitlines())
    return {ref.removeprefix(prefix): commit for commit, ref in pairs}


def pin_ref(project: str, name: str) -> str:
    """The full ref of a pin.

    Args:
        project: the project's name.
        name: what the pin is for, as `pin` takes it; "" gives the prefix of all pins of the project.
    """
    return f"refs/piloop/{slug(project)}/{name}"
