"""Fills the submodules of a fresh worktree from what the main checkout already has, without the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from herdr.repo.git import GitError, run_git
from herdr.repo.own import CLOSED, OwnRepository

#: Seconds for one submodule; only a commit that the main checkout lacks needs the network.
SUBMODULE_TIMEOUT = 120.0


class Submodule(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of `.gitmodules` that the commit really has."""

    name: str
    path: str


def init_submodules(
    tree: Path, own: OwnRepository, *, root: Path, common: Path, keep_open: Sequence[int] = ()
) -> list[str]:
    """Check out every submodule of the worktree `tree`, nested ones too.

    Nothing is written to the repo's shared config: a plain `git submodule init` would.

    Args:
        tree: the worktree, just made and not yet anybody's, or a submodule in it.
        own: the project's repository of herdr's own, whose snapshot says which URLs are the person's.
        root: the main checkout that corresponds to `tree`.
        common: its git folder, which keeps the submodules' repos under `modules/`.
        keep_open: file descriptors that the git processes inherit.

    Returns:
        One sentence for each submodule that could not be had.
    """
    warnings = []
    for module in _submodules(tree):
        store = _store(module, root, common)
        if store is None:
            warnings.append(f"submodule {module.path} is not checked out in {root}, so the worktree lacks it")
            continue
        try:
            _update(tree, own, module, store, keep_open)
        except GitError as error:
            warnings.append(f"submodule {module.path} could not be checked out: {error.reason}")
            continue
        warnings += init_submodules(
            tree / module.path, own, root=root / module.path, common=store, keep_open=keep_open
        )
    return warnings


def _submodules(tree: Path) -> Iterator[Submodule]:
    if not (tree / ".gitmodules").is_file():
        return
    listed = run_git(
        tree,
        "config",
        "-z",
        "-f",
        ".gitmodules",
        "--get-regexp",
        r"^submodule\..*\.path$",
        check=False,
        env=CLOSED,
    )
    entries = run_git(tree, "ls-files", "-s", "-z", env=CLOSED).fields
    present = {entry.partition("\t")[2] for entry in entries if entry.startswith("160000 ")}
    for field in listed.fields:
        key, _, path = field.partition("\n")
        name = key.removeprefix("submodule.").removesuffix(".path")
        if path in present and ".." not in PurePosixPath(name).parts:
            yield Submodule(name=name, path=path)


def _store(module: Submodule, root: Path, common: Path) -> Path | None:
    # Submodules made by very old versions of git keep their repo in place.
    for folder in (common / "modules" / module.name, root / module.path / ".git"):
        if (folder / "HEAD").is_file():
            return folder
    return None


def _update(tree: Path, own: OwnRepository, module: Submodule, store: Path, keep_open: Sequence[int]) -> None:
    key = f"submodule.{module.name}"
    # It borrows the objects of the person's, as the worktree does.
    update = ("submodule", "--quiet", "update", "--checkout", "--force", "--reference", store, "--", module.path)
    active = ("-c", f"{key}.active=true")
    local = ("-c", f"{key}.url={store}", "-c", "protocol.file.allow=always")
    theirs = [value for name, value in own.snapshot.config if name == f"{key}.url"]

    def run(*settings: str) -> None:
        run_git(tree, *active, *settings, *update, timeout=SUBMODULE_TIMEOUT, keep_open=keep_open, env=CLOSED)

    try:
        run(*local)
    except GitError:
        if not theirs:
            raise
        # A commit may name any URL; only one that the person has set up is asked.
        run("-c", f"{key}.url={theirs[-1]}")
