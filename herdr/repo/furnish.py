"""Gives a fresh worktree what a commit does not hold but the evaluate command needs."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from herdr.errors import HerdrError, RefusedError
from herdr.files import Folder
from herdr.repo.checks import path_inside
from herdr.repo.files import delete_entry, read_file, write_file
from herdr.repo.git import run_git
from herdr.repo.isolated import Isolated, exclude
from herdr.repo.linked import COPY_LIMIT, UNFINISHED, make_view, remove_unfinished, view_of
from herdr.repo.own import OwnRepository
from herdr.repo.prints import lend

INCLUDE_FILE = ".worktreeinclude"
AGENT_FOLDER, WORKSPACE = ".herdr", "workspace"
#: The file in a worktree's repository that names the views which were made.
VIEWS = "herdr-views"


def furnish(
    place: Isolated,
    own: OwnRepository,
    *,
    link: Sequence[str],
    shared: Collection[str] = (),
    workspace: Path | None = None,
) -> tuple[str, ...]:
    """Add the `link` paths, the shared `workspace` folder and what `.worktreeinclude` names.

    Doing it again is fine: a view that is there already is left as the agent has it. All of it is ignored by
    git through the excludes of the worktree's own repository.

    Args:
        place: a fresh worktree, of a run or for scoring.
        own: the project's repository of herdr's own.
        link: paths that come from the checkout, relative to it.
        shared: those of them that are meant to be written to.
        workspace: the project's shared folder, made when missing; None for a scoring, which has none.

    Returns:
        Sentences on what will not work: symlinks that lead nowhere, files that could not be copied.

    Raises:
        HerdrError: a `link` path is missing in the main checkout, leads out of it or cannot be read, or there is
            too much to copy.
        RefusedError: something else is already in a link's place.
    """
    worktree, root = place.worktree, own.root
    free = workspace is not None and (
        not os.path.lexists(worktree / WORKSPACE) or _links_to(worktree / WORKSPACE, workspace)
    )
    ignored = [f"/{AGENT_FOLDER}", f"{UNFINISHED}*/", *(f"/{_escaped(path)}" for path in link)]
    if free:
        # Only the symlink: a folder of that name that an agent makes stays visible to git.
        ignored += [f"/{WORKSPACE}", f"!/{WORKSPACE}/"]
    exclude(place, ignored)
    for path in link:
        _give(place, own, path, write=path in shared)
    if workspace is not None and free:
        workspace.mkdir(parents=True, exist_ok=True)
        _link(worktree / WORKSPACE, workspace)
    return (*_copy_included(worktree, root), *_dangling(place, own))


def make_agent_folder(place: Isolated, own: OwnRepository) -> Path:
    """Make `.herdr/` in a run's worktree anew, with the mailbox through which an agent talks to the daemon.

    Args:
        place: the run's folder.
        own: the project's repository of herdr's own.

    Raises:
        RefusedError: the repo has something of its own by that name.
    """
    folder = place.worktree / AGENT_FOLDER
    listed = ("ls-files", "-z", "--", f":(top,literal){AGENT_FOLDER}")
    if own.run(*listed, work_tree=place.worktree, index=place.admin / "index").fields:
        raise RefusedError(
            f"the repo has a {AGENT_FOLDER} of its own, which herdr needs in its worktrees",
            fix=f"Take it out of git: git rm -r --cached {AGENT_FOLDER}",
        )
    # An agent may have put anything there, a link to another folder too.
    delete_entry(folder)
    with (
        Folder.open(place.worktree) as worktree,
        worktree.inner(AGENT_FOLDER, make=True) as made,
        made.inner("mailbox", make=True) as mailbox,
    ):
        for part in ("requests", "answers"):
            mailbox.inner(part, make=True).close()
    return folder


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path.rstrip("/"))


def _links_to(link: Path, target: Path) -> bool:
    return link.is_symlink() and link.readlink() == target


def _give(place: Isolated, own: OwnRepository, path: str, *, write: bool) -> None:
    """Give a worktree one `link` path, as a view or as a symlink."""
    source = path_inside(own.root, path)
    if not source.exists():
        raise HerdrError(f"link path {source} does not exist", fix="Create it, or take it out of `link`.")
    target = path_inside(place.worktree, path)
    made = _views(place)
    if path in made and os.path.lexists(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(target.parent)
    view = view_of(path, source, target.parent, write=write)
    if view.survey is not None:
        lend(own, path, [path] if view.form == "borrowed" else [str(one) for one in view.survey.outside])
    if view.form in ("shared", "borrowed"):
        _link(target, source)
        return
    if _links_to(target, source):
        target.unlink()
    _refuse_taken(target, source)
    make_view(view, target)
    write_file(place.repository, VIEWS, os.fsencode("".join(f"{one}\n" for one in sorted({*made, path}))))


def _views(place: Isolated) -> set[str]:
    """The views that were made in a worktree."""
    return set(os.fsdecode(read_file(place.repository / VIEWS) or b"").splitlines())


def _link(link: Path, target: Path) -> None:
    if _links_to(link, target):
        return
    _refuse_taken(link, target)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)


def _refuse_taken(place: Path, source: Path) -> None:
    if os.path.lexists(place):
        raise RefusedError(
            f"{place} is already there, so {source} cannot be linked in its place",
            fix="Take it out of git, or out of `link` in piloop.toml.",
        )


def _copy_included(worktree: Path, root: Path) -> list[str]:
    names = _included(root)
    size = sum((root / name).lstat().st_size for name in names)
    if size > COPY_LIMIT:
        raise HerdrError(
            f"{root / INCLUDE_FILE} names {size / 1e6:.0f} MB in {len(names)} files to copy into every worktree",
            fix="Name less there, and put large data under `link` in piloop.toml.",
        )
    return [problem for name in names if (problem := _copy(root, worktree, name))]


def _included(root: Path) -> list[str]:
    """The untracked files that the patterns match, found by git itself; it does not enter nested repos."""
    patterns = root / INCLUDE_FILE
    if not patterns.is_file():
        return []
    listed = run_git(root, "ls-files", "-z", "--others", "--ignored", f"--exclude-from={patterns}").fields
    kept = []
    for name in listed:
        if name.split("/")[0] in (".worktrees", AGENT_FOLDER):
            continue
        mode = (root / name).lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            kept.append(name)
    return kept


def _copy(root: Path, worktree: Path, name: str) -> str | None:
    """Copy one file unless there is one already; a sentence when that cannot be done."""
    try:
        _copy_file(root / name, path_inside(worktree, name))
    except (OSError, HerdrError) as error:
        return f"{name} of {INCLUDE_FILE} was not copied: {error}"
    return None


def _copy_file(source: Path, target: Path) -> None:
    if os.path.lexists(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
        return
    # These are mostly secrets: for the owner alone, from the first byte on.
    mode = stat.S_IMODE(source.stat().st_mode) & 0o700
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    with os.fdopen(descriptor, "wb") as copy, source.open("rb") as original:
        shutil.copyfileobj(original, copy)


def _dangling(place: Isolated, own: OwnRepository) -> list[str]:
    worktree = place.worktree
    entries = own.run("ls-files", "-s", "-z", work_tree=worktree, index=place.admin / "index").fields
    links = [entry.partition("\t")[2] for entry in entries if entry.startswith("120000 ")]
    return [
        f"the symlink {link} leads nowhere in the worktree: {(worktree / link).readlink()}"
        for link in links
        if (worktree / link).is_symlink() and not (worktree / link).exists()
    ]
