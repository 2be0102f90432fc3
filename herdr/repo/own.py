"""A repository of herdr's own for each project: it borrows the person's objects, and nobody else configures it.

Whatever an agent can write (its run's repository, attributes of a worktree, and without a wall even the person's
config) may name programs that git would run, or change what git reads. So herdr reads commits, merges, stages and
checks out here, with a configuration that was copied from the person's at `herdr up` and is kept in a file.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from herdr.home import Home
from herdr.repo.checks import common_dir
from herdr.repo.files import delete_tree
from herdr.repo.git import DEFAULT_TIMEOUT, Completed, run_git
from herdr.repo.lock import repo_lock
from herdr.repo.names import slug
from herdr.repo.snapshot import ATTRIBUTES, FILE, Snapshot, take_snapshot

#: What the names of throw-away folders begin with, and the seconds after which a killed herdr has left one.
THROW_AWAY = "tmp-"
SWEEP_AGE = 24 * 3600

#: The configuration of a git folder that does nothing but read and get objects.
BARE = b"""[core]
\trepositoryformatversion = 1
\tbare = true
\tcommitGraph = false
\tmultiPackIndex = false
[pack]
\tuseBitmaps = false
\tthreads = 1
"""

#: No file outside the repository that git is run in may say how it works.
CLOSED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}


class OwnRepository(msgspec.Struct, frozen=True, kw_only=True):
    """A bare repository in the home.

    Attributes:
        path: its git folder.
        root: the person's checkout, whose objects it borrows.
        common: the git folder of that.
        pins: what the names of the refs begin with that keep commits, here and in the person's repository; with
            the id of the home in it, so that two homes cannot meet.
    """

    path: Path
    root: Path
    common: Path
    pins: str

    def run(
        self,
        *args: str | Path,
        work_tree: Path | None = None,
        index: Path | None = None,
        input: bytes | None = None,  # noqa: A002 - the name subprocess gives it
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        env: Mapping[str, str] | None = None,
        keep_open: Sequence[int] = (),
    ) -> Completed:
        """Run git here.

        Args:
            args: the arguments after `git`.
            work_tree: the folder whose files it looks at or writes; it runs there.
            index: the index that it uses; without one commands that need an index fail.
            input: what it reads from standard input.
            check: raise when it exits non-zero.
            timeout: seconds until it is killed.
            env: further variables.
            keep_open: file descriptors that it inherits.

        Raises:
            GitError: as `run_git`.
        """
        place = {"GIT_DIR": str(self.path), "GIT_INDEX_FILE": str(index or self.path / "no-index")}
        if work_tree is not None:
            place["GIT_WORK_TREE"] = str(work_tree)
        return run_git(
            work_tree or self.path,
            *args,
            input=input,
            check=check,
            timeout=timeout,
            env={**CLOSED, **place, **(env or {})},
            keep_open=keep_open,
        )

    def run_in_persons(
        self,
        *args: str,
        input: bytes | None = None,  # noqa: A002
        check: bool = True,
    ) -> Completed:
        """Run a command for refs in the person's git folder: none runs what the configuration there names.

        Args:
            args: the arguments after `git`.
            input: what it reads from standard input.
            check: raise when it exits non-zero.

        Raises:
            GitError: as `run_git`.
        """
        env = {"GIT_DIR": str(self.common), "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1"}
        return run_git(self.common, *args, input=input, check=check, env=env)

    def throw_away(self) -> tempfile.TemporaryDirectory[str]:
        """A folder for the time of one call, on the same file system."""
        return tempfile.TemporaryDirectory(dir=self.path, prefix=THROW_AWAY)

    @property
    def lookout(self) -> Path:
        """A git folder that has the person's objects alone, and nothing of their configuration."""
        return self.path / "lookout.git"

    def identity(self) -> tuple[str, ...]:
        """Settings that let git commit here: none where the person configured a name and an address."""
        known = dict(self.snapshot.config)
        fallback = {"user.name": "herdr", "user.email": "herdr@localhost"}
        return tuple(word for key in fallback if not known.get(key) for word in ("-c", f"{key}={fallback[key]}"))

    def commit_tree(self, tree: str, *, parents: Sequence[str], message: str) -> str:
        """Make a commit and give its id.

        Args:
            tree: the id of its tree.
            parents: the ids of its parents.
            message: its whole message.
        """
        flags = [word for parent in parents for word in ("-p", parent)]
        text = message.encode("utf-8", "replace")
        return self.run(*self.identity(), "commit-tree", tree, *flags, "-F", "-", input=text).text

    @property
    def snapshot(self) -> Snapshot:
        """The person's configuration as it is in force."""
        return msgspec.json.decode((self.path / FILE).read_bytes(), type=Snapshot)


def open_own(path: Path, root: Path, pins: str) -> OwnRepository:
    """The project's repository of herdr's own; made, with a snapshot of the person's configuration, when missing.

    Args:
        path: where it is, in the home.
        root: the person's checkout.
        pins: what the names of its pins begin with, such as `refs/piloop/4f1c09aa/tsp/`.

    Raises:
        HerdrError: the checkout cannot be read, or the home cannot be written.
    """
    own = OwnRepository(path=path, root=root, common=common_dir(root), pins=pins)
    if not _is_whole(own):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        with repo_lock(path):
            if not _is_whole(own):
                _renew(own, take_snapshot(root))
    return own


def own_of(home: Home, root: Path, project: str) -> OwnRepository:
    """The repository of herdr's own for a project of a home, see `open_own`.

    Args:
        home: the home.
        root: the person's checkout.
        project: the project's name.
    """
    return open_own(home.repositories(root) / "own.git", root, f"refs/piloop/{home.id}/{slug(project)}/")


def refresh(own: OwnRepository) -> list[str]:
    """Take a new snapshot of the person's configuration; says what changed since the last one.

    Args:
        own: the project's repository of herdr's own.
    """
    before, now = own.snapshot, take_snapshot(own.root)
    with repo_lock(own.path):
        _renew(own, now)
    _sweep(own)
    return now.changes_since(before)


def _renew(own: OwnRepository, snapshot: Snapshot) -> None:
    write_repository(own.path, own.common / "objects", snapshot, head="refs/heads/none")
    if not (own.path / FILE).is_file():
        _recall_pins(own)
    write_bare(own.lookout, own.common / "objects", snapshot)
    # Last: with it, the repository is whole.
    _write(own.path / FILE, msgspec.json.encode(snapshot))


def _sweep(own: OwnRepository) -> None:
    """Delete the throw-away folders that a killed herdr left; one that is in use is younger."""
    old = time.time() - SWEEP_AGE
    for path in own.path.iterdir():
        if path.name.startswith(THROW_AWAY) and path.stat().st_mtime < old:
            delete_tree(path)


class Extras(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository has beyond how files and commits are made.

    Attributes:
        hooks: a folder of hooks that run in it; none by default.
        remotes: whether it has the person's remotes.
    """

    hooks: Path | None = None
    remotes: bool = False


def write_repository(
    path: Path, objects: Path, snapshot: Snapshot, *, head: str, extras: Extras | None = None
) -> None:
    """Write the files of a bare repository that borrows another one's objects; git itself is not run.

    Args:
        path: its git folder.
        objects: the object folder that it borrows, which it never writes to.
        snapshot: the configuration that it gets.
        head: the ref that its HEAD names.
        extras: hooks and remotes; none by default.
    """
    extras = extras or Extras()
    for folder in ("objects/info", "objects/pack", "refs/heads", "info", "hooks"):
        (path / folder).mkdir(parents=True, exist_ok=True)
    config = snapshot.config_file(path, extras.hooks or path / "hooks", remotes=extras.remotes)
    files = {
        "objects/info/alternates": os.fsencode(objects) + b"\n",
        "config": config.encode("utf-8", "surrogateescape"),
        ATTRIBUTES: snapshot.attributes_file,
        "info/attributes": snapshot.attributes,
        "info/exclude": snapshot.exclude,
        "info/sparse-checkout": snapshot.sparse,
        "shallow": snapshot.shallow,
    }
    for name, content in files.items():
        # Empty files of these two would mean something.
        if content or name not in ("info/sparse-checkout", "shallow"):
            _write(path / name, content)
        else:
            (path / name).unlink(missing_ok=True)
    # Last: a folder without HEAD is no repository, so a half-made one is not taken for a whole one.
    _write(path / "HEAD", f"ref: {head}\n".encode())


def write_bare(folder: Path, objects: Path, snapshot: Snapshot) -> None:
    """Write a git folder without refs, hooks or history, which does nothing but read and get objects.

    Args:
        folder: where.
        objects: the object folder that it reads beside its own.
        snapshot: says how objects are kept.
    """
    for inner in ("objects/info", "objects/pack", "refs"):
        (folder / inner).mkdir(parents=True, exist_ok=True)
    (folder / "objects/info/alternates").write_bytes(os.fsencode(objects) + b"\n")
    (folder / "config").write_bytes(BARE + snapshot.format_lines())
    if snapshot.shallow:
        (folder / "shallow").write_bytes(snapshot.shallow)
    else:
        (folder / "shallow").unlink(missing_ok=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")


def _recall_pins(own: OwnRepository) -> None:
    """A home that lost this repository finds its pins in the person's, which has their commits."""
    prefix = own.pins.rpartition("/")[0]
    listed = own.run_in_persons("for-each-ref", "--format=update %(refname) %(objectname)", prefix).out
    if listed:
        own.run("update-ref", "--stdin", input=listed)


def _is_whole(own: OwnRepository) -> bool:
    try:
        borrowed = (own.path / "objects/info/alternates").read_bytes()
    except FileNotFoundError:
        return False
    return borrowed == os.fsencode(own.common / "objects") + b"\n" and (own.path / FILE).is_file()


def _write(path: Path, content: bytes) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_bytes(content)
    fresh.replace(path)
