"""Worktrees that herdr makes: created under a lock, repaired after a crash, verified, removed whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec

from herdr.errors import HerdrError, RefusedError
from herdr.repo.checks import common_dir, is_ancestor, resolve_commit
from herdr.repo.exclude import OWN_PATTERNS, add_excludes
from herdr.repo.git import run_git
from herdr.repo.lock import own_folder, repo_lock
from herdr.repo.submodules import init_submodules

#: Seconds; a checkout of 375,000 files takes 40 on an idle disk and several times that on a busy one.
CHECKOUT_TIMEOUT = 1800.0

#: In a worktree's admin folder: what herdr made it for. Gone with the worktree.
MARKER = "herdr.json"


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What herdr noted of a worktree it made; `branch` is None for a detached one, made for scoring."""

    path: str
    branch: str | None
    commit: str


class Worktree(msgspec.Struct, frozen=True, kw_only=True):
    """A worktree of the repo; `made` tells herdr's own from the user's, `warnings` what it lacks."""

    path: Path
    branch: str | None
    commit: str
    made: Made | None = None
    locked: bool = False
    warnings: tuple[str, ...] = ()


def create_run_worktree(root: Path, *, path: Path, branch: str, commit: str) -> Worktree:
    """Make a worktree at `path` on the new branch `branch`, starting at `commit`.

    The user's hooks do not run, nothing tracks a remote, and whatever goes wrong is undone.

    Args:
        root: the main checkout.
        path: where the worktree goes; nothing may be there.
        branch: the new branch, without `refs/heads/`.
        commit: any revision.

    Raises:
        RefusedError: the path or the branch exists already.
        GitError: git failed.
    """
    add_excludes(common_dir(root), OWN_PATTERNS)
    return _create(root, path, branch, commit)


def ensure_run_worktree(root: Path, *, path: Path, branch: str, commit: str) -> Worktree:
    """The worktree that herdr made at `path` for `branch`, or else a new one.

    For a run that is started again: a half-made worktree of a killed herdr is not taken for a whole one, and one
    whose folder somebody deleted is made again from its branch, which has the run's commits.

    Args:
        root: the main checkout.
        path: where the worktree is, or goes.
        branch: the run's branch, without `refs/heads/`.
        commit: where a new worktree starts; one that is there already is at whatever its agent committed.

    Raises:
        RefusedError: the path or the branch exists already and is something else.
        GitError: git failed.
    """
    place = path.resolve()
    for known in list_worktrees(root):
        ours = known.made is not None and known.made.branch == branch
        if ours and known.path.resolve() == place:
            return known if path.is_dir() else _create(root, path, branch, commit, gone=True)
    return create_run_worktree(root, path=path, branch=branch, commit=commit)


def create_detached(root: Path, path: Path, commit: str) -> Worktree:
    """Make a worktree of exactly `commit` at `path`, on no branch: a place to score in.

    Args:
        root: the main checkout.
        path: where the worktree goes; nothing may be there.
        commit: any revision.

    Raises:
        RefusedError: the path exists already.
        GitError: git failed.
    """
    return _create(root, path, None, commit)


def verify(worktree: Path, *, root: Path, branch: str, base: str) -> None:
    """Make sure that an agent launched here works where it should: this worktree, this branch, on this base.

    Args:
        worktree: where the agent is about to work.
        root: the main checkout that it must be a worktree of.
        branch: the branch that it must be on, without `refs/heads/`.
        base: the commit that its history must hold.

    Raises:
        HerdrError: the folder is no worktree of `root`, so that git would use a repo around it; or herdr did not
            finish making it; or the branch or the base differ.
    """
    _verify_place(worktree, root)
    if made_by_herdr(common_dir(root), worktree) is None:
        raise HerdrError(f"{worktree} was not made by herdr, or only half", fix="Move the folder away.")
    on = run_git(worktree, "symbolic-ref", "-q", "HEAD", check=False).text.removeprefix("refs/heads/")
    if on != branch:
        raise HerdrError(f"{worktree} is on {on or 'no branch'} and not on {branch}")
    if not is_ancestor(root, base, resolve_commit(worktree, "HEAD")):
        raise HerdrError(f"{worktree} does not start from {base}")


def verify_detached(worktree: Path, *, root: Path, commit: str) -> None:
    """Make sure that what is scored here is exactly `commit`.

    Args:
        worktree: where the evaluate command is about to run.
        root: the main checkout that it must be a worktree of.
        commit: the full id that its HEAD must be.

    Raises:
        HerdrError: the folder is no worktree of `root`, so that git would use a repo around it; or HEAD is at
            another commit.
    """
    _verify_place(worktree, root)
    head = resolve_commit(worktree, "HEAD")
    if head != commit:
        raise HerdrError(f"{worktree} is at {head} and not at {commit}")


def list_worktrees(root: Path) -> list[Worktree]:
    """Every worktree of the repo, the main checkout first."""
    common = common_dir(root)
    admins = _admin_folders(common)
    records = run_git(root, "worktree", "list", "--porcelain", "-z").out.split(b"\0\0")
    found = []
    for record in records:
        keys = dict(os.fsdecode(line).partition(" ")[::2] for line in record.split(b"\0") if line)
        if "worktree" not in keys:
            continue
        path = Path(keys["worktree"])
        admin = admins.get(path.resolve())
        found.append(
            Worktree(
                path=path,
                branch=keys["branch"].removeprefix("refs/heads/") if "branch" in keys else None,
                commit=keys.get("HEAD", ""),
                made=_read_marker(admin) if admin else None,
                locked="locked" in keys,
            )
        )
    return found


def remove_detached(root: Path, path: Path) -> None:
    """Remove a scoring worktree with everything that the evaluation left in it; a missing one is fine.

    Args:
        root: the main checkout.
        path: the worktree.

    Raises:
        RefusedError: herdr did not make it, or made it for a run.
    """
    common = common_dir(root)
    with repo_lock(common):
        repair(root, common)
        made = made_by_herdr(common, path)
        if made is None and _admin_folder(common, path) is None and not path.exists():
            return
        if made is None or made.branch is not None:
            raise RefusedError(f"{path} is no scoring worktree of herdr's", fix=f"Look at it, then: rm -r {path}")
        discard(root, common, path)


def made_by_herdr(common: Path, path: Path) -> Made | None:
    """What herdr noted when it made the worktree at `path`; None when herdr did not make it.

    Args:
        common: the git folder that all worktrees of the repo share.
        path: the worktree's folder, which need not exist any more.
    """
    admin = _admin_folder(common, path)
    return _read_marker(admin) if admin else None


def discard(root: Path, common: Path, path: Path) -> None:
    """Delete a worktree of ours and git's record of it. The caller holds the lock and knows it may go.

    Args:
        root: the main checkout.
        common: the git folder that all worktrees of the repo share.
        path: the worktree; uncommitted work in it is lost, commits and branches stay.
    """
    plan = Made(path=str(path.resolve()), branch=None, commit="")
    with _noted(root, common, plan):
        _undo(root, common, plan)


def repair(root: Path, common: Path) -> None:
    """Finish what a killed herdr left half made or half removed. The caller holds the lock.

    While the caller holds it no other herdr makes or removes a worktree here, so every note that is found was
    left by a process that was killed.

    Args:
        root: the main checkout.
        common: the git folder that all worktrees of the repo share.
    """
    for note in own_folder(common).glob("undo-*.json"):
        with contextlib.suppress(msgspec.DecodeError):
            _undo(root, common, msgspec.json.decode(note.read_bytes(), type=Made))
        note.unlink()


def delete_tree(path: Path) -> None:
    """Delete a folder whole, never following a symlink, read-only folders (Go's module cache) included."""
    try:
        shutil.rmtree(path)
    except PermissionError:
        path.chmod(0o700)
        for parent, folders, _ in os.walk(path):
            for folder in folders:
                if not Path(parent, folder).is_symlink():
                    Path(parent, folder).chmod(0o700)
        shutil.rmtree(path)


def _create(root: Path, path: Path, branch: str | None, commit: str, *, gone: bool = False) -> Worktree:
    """Make a worktree; `gone`: of a branch that is there, whose worktree's folder is not."""
    common = common_dir(root)
    path = path.parent.resolve() / path.name
    plan = Made(path=str(path), branch=branch, commit=resolve_commit(root, commit))
    with repo_lock(common) as lock:
        repair(root, common)
        # A crash undoes whatever the note names, so it is written only when nothing else is at this path.
        if gone and not path.exists() and (admin := _admin_folder(common, path)) is not None:
            delete_tree(admin)
        else:
            _refuse_taken(root, common, plan)
        with _noted(root, common, plan) as note:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
            place = ("--detach",) if branch is None else () if gone else ("--no-track", "-b", branch)
            at = branch if gone and branch is not None else plan.commit
            add = ("worktree", "add", "--quiet", *place, "--", path, at)
            run_git(root, *add, timeout=CHECKOUT_TIMEOUT, keep_open=(lock,))
            _verify_place(path, root)
            admin = _admin_folder(common, path)
            assert admin is not None, "git has just verified that the worktree is registered"
            warnings = init_submodules(path, root=root, common=common, keep_open=(lock,))
            # One step ends the note and marks the worktree as made, so a crash leaves one of them, never both.
            note.rename(admin / MARKER)
    return Worktree(path=path, branch=branch, commit=plan.commit, made=plan, warnings=tuple(warnings))


@contextlib.contextmanager
def _noted(root: Path, common: Path, plan: Made) -> Iterator[Path]:
    """Undo `plan` if the body fails; if it is killed, the note lets the next call undo it."""
    note = own_folder(common) / f"undo-{os.urandom(8).hex()}.json"
    note.write_bytes(msgspec.json.encode(plan))
    try:
        yield note
    except BaseException:
        _undo(root, common, plan)
        note.unlink()
        raise
    note.unlink(missing_ok=True)


def _undo(root: Path, common: Path, plan: Made) -> None:
    path = Path(plan.path)
    admin = _admin_folder(common, path)
    if admin is not None:
        if path.exists():
            delete_tree(path)
        delete_tree(admin)
    # An empty folder may be the one that we made before git; one with files that git does not know is not ours.
    with contextlib.suppress(OSError):
        path.rmdir()
    _drop_unnamed_admin(common, path)
    if plan.branch is not None:
        # Delete it only where it still is as we made it: a branch that moved has commits of an agent or a person.
        run_git(root, "update-ref", "-d", f"refs/heads/{plan.branch}", plan.commit, check=False)


def _refuse_taken(root: Path, common: Path, plan: Made) -> None:
    path = Path(plan.path)
    if os.path.lexists(path):
        raise RefusedError(
            f"{path} exists already", fix=f"Look at what it is, then move it away: mv {path} {path}.old"
        )
    if _admin_folder(common, path) is not None:
        raise RefusedError(f"git still lists a worktree at {path}", fix=f"Run: git -C {root} worktree prune")
    if plan.branch is None:
        return
    run_git(root, "check-ref-format", "--branch", plan.branch)
    parts = plan.branch.split("/")
    above = [f"refs/heads/{'/'.join(parts[: n + 1])}" for n in range(len(parts))]
    known = set(run_git(root, "for-each-ref", "--format=%(refname)", *above).text.splitlines())
    for ref in above:
        if ref in known:
            name = ref.removeprefix("refs/heads/")
            raise RefusedError(
                f"the branch {name} exists already in {root}"
                + ("" if name == plan.branch else f", so git cannot make {plan.branch}"),
                fix=f"Rename it: git -C {root} branch -m {name} {name}-old",
            )


def _verify_place(worktree: Path, root: Path) -> None:
    asked = run_git(worktree, "rev-parse", "--show-toplevel", check=False)
    top = asked.text if asked.code == 0 else "no repo at all"
    if asked.code != 0 or Path(top).resolve() != worktree.resolve():
        raise HerdrError(f"{worktree} is no worktree: git finds {top} from there", fix="Move the folder away.")
    if common_dir(worktree) != common_dir(root):
        raise HerdrError(f"{worktree} is a worktree of another repo than {root}", fix="Move the folder away.")


def _read_marker(admin: Path) -> Made | None:
    try:
        return msgspec.json.decode((admin / MARKER).read_bytes(), type=Made)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def _admin_folder(common: Path, path: Path) -> Path | None:
    return _admin_folders(common).get(path.resolve())


def _admin_folders(common: Path) -> dict[Path, Path]:
    """Git's record of each worktree, by the worktree's path; read here, because a worktree may be half there."""
    found = {}
    for link in (common / "worktrees").glob("*/gitdir"):
        pointer = link.parent / os.fsdecode(link.read_bytes()).rstrip("\n")
        found[pointer.parent.resolve()] = link.parent
    return found


def _drop_unnamed_admin(common: Path, path: Path) -> None:
    # Killed between its first two steps, git leaves a record that names no worktree and that prune spares.
    for admin in (common / "worktrees").glob("*"):
        if not admin.name.startswith(path.name):
            continue
        number = admin.name.removeprefix(path.name)
        if (number == "" or number.isdigit()) and not (admin / "gitdir").exists():
            delete_tree(admin)
