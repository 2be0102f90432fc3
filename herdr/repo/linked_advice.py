"""What a person should know of linked paths: what is copied, what agents write to, what scores the checkout."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from herdr.repo.checks import path_inside
from herdr.repo.linked import COPY_LIMIT, WORTH_SAYING, View, view_of

#: Bytes of a file of an environment that are read.
READ = 256 * 1024
SETUP = '[setup] command = ["uv", "sync", "--frozen"]'
#: How many things of one kind are named.
NAMED = 3


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to know of a `link` path.

    Attributes:
        message: what is so.
        fix: what to do about it; empty where nothing has to be done.
        big: whether it takes time and room that a person should know of.
    """

    message: str
    fix: str = ""
    big: bool = False


def advice(root: Path, folders: Sequence[Path], *, link: Sequence[str], shared: Collection[str]) -> list[Advice]:
    """What to know of each `link` path.

    Args:
        root: the checkout.
        folders: folders on the file systems that worktrees and scorings are on.
        link: paths relative to the checkout.
        shared: those of them that are meant to be written to.

    Raises:
        HerdrError: one of them leads out of the checkout or cannot be read.
    """
    return [one for path in link for one in _of_path(root, folders, path, write=path in shared)]


def points_into(environment: Path, root: Path) -> list[str]:
    """The files of a virtual environment that make its Python take code from a repo's own folder.

    Args:
        environment: the environment.
        root: the repo.
    """
    places = {str(root), os.path.realpath(root)}
    found = []
    for packages in (*environment.glob("lib*/python*/site-packages"), *environment.glob("Lib/site-packages")):
        for pattern in ("*.pth", "__editable__*.py", "*.egg-link", "*.dist-info/direct_url.json"):
            found += [path for path in sorted(packages.glob(pattern)) if _names(path, places, environment)]
    # lib64 is often a link to lib.
    return sorted({str(path.relative_to(path.parents[0 if path.suffix != ".json" else 1])) for path in found})


def _names(path: Path, places: Collection[str], environment: Path) -> bool:
    try:
        with path.open("rb") as file:
            text = file.read(READ).decode("utf-8", "replace")
    except OSError:
        return False
    # The environment lies in the repo itself, most of the time.
    rest = text.replace(f"{environment}", "").replace(os.path.realpath(environment), "")
    return any(place in rest for place in places)


def _of_path(root: Path, folders: Sequence[Path], path: str, *, write: bool) -> Iterator[Advice]:
    source = path_inside(root, path)
    if not source.exists():
        yield Advice(message=f"link path {path} does not exist", fix="create it, or take it out of `link`")
        return
    views = [view_of(path, source, folder, write=write) for folder in folders]
    if write:
        yield Advice(message=f"{path} is shared: agents and evaluators may write to it")
        return
    worst = next((view for view in views if view.form == "borrowed"), views[0])
    found = worst.survey
    assert found is not None, "only what is shared is not looked at"
    if found.environment is not None:
        yield from _of_environment(root, path, source / found.environment)
    elif worst.form == "borrowed":
        yield Advice(
            message=f"{path} is larger than {COPY_LIMIT / 1e6:.0f} MB, the most that is copied: agents get a"
            " link to yours and can write to it; what they change holds verdicts back until you decide",
            fix=f'link less of it, or {{ path = "{path}", write = true }} if it is meant to be written to',
        )
    else:
        yield _of_view(views, path)
    if found.outside:
        names = ", ".join(map(str, found.outside[:NAMED]))
        yield Advice(
            message=f"symlinks in {path} lead to {names}, where agents can write",
            fix="put the files themselves there, or leave it: a change holds verdicts back until you decide",
        )


def _of_environment(root: Path, path: str, environment: Path) -> Iterator[Advice]:
    yield Advice(
        message=f"{path} is a virtual environment, of which no copy can be made, since its programs name the"
        " folder where it was made: agents get a link to yours and can write to it",
        fix=f"take it out of `link`, and have each worktree make its own: {SETUP}",
    )
    if names := points_into(Path(os.path.normpath(environment)), root):
        yield Advice(
            message=f"{path} has this repo installed from its own folder ({', '.join(names[:NAMED])}): every"
            " candidate is scored with the code of your checkout, not with its own",
            fix=f"take it out of `link`, and have each worktree install itself: {SETUP}",
        )


def _of_view(views: Sequence[View], path: str) -> Advice:
    size = max(view.survey.size for view in views if view.survey is not None)
    copied = any(view.form == "copy" for view in views)
    done = "copied" if copied else "cloned"
    how = f"{size / 1e6:.1f} MB are {done} into each worktree and for each scoring"
    return Advice(
        message=f"{path}: {how} (at most {COPY_LIMIT / 1e6:.0f} MB are copied)",
        big=copied and size > WORTH_SAYING,
    )
