"""Which files make up the evaluator, when `protect` does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

ALWAYS = ("/piloop.toml", "/PREPARE.md", "/.polyresearch/")
SEPARATORS = re.compile(r"[\s=;&|<>()'\"]+")


def default_patterns(root: Path, evaluate: Sequence[str], link: Sequence[str]) -> tuple[str, ...]:
    """Gitignore patterns of every repo file in the evaluate command, and of what defines the problem.

    A Python module after `-m` and a path inside a shell command count as files too. What lies below a `link`
    path is not part of the repo.

    Args:
        root: the repo.
        evaluate: the command's argv.
        link: the config's `link`.
    """
    found = {f"/{escape(path)}" for path in named_files(root, evaluate) if not is_linked(path, link)}
    return tuple(dict.fromkeys((*sorted(found), *ALWAYS)))


def named_files(root: Path, evaluate: Sequence[str]) -> Iterator[str]:
    """The repo-relative paths of the files that the words of a command name.

    Args:
        root: the repo.
        evaluate: the command's argv.
    """
    words = [part for word in evaluate for part in parts_of(word) if part]
    for before, word in zip(["", *words], words, strict=False):
        names = [word]
        if before == "-m":
            module = word.replace(".", "/")
            names += [f"{module}.py", f"{module}/__main__.py"]
        for name in names:
            path = file_in_repo(root, name)
            if path:
                yield path


def parts_of(word: str) -> list[str]:
    """What may be a path in one word of an argv: all of it, what follows `=`, words of a shell command."""
    return [word, word.partition("=")[2], *SEPARATORS.split(word)]


def file_in_repo(root: Path, name: str) -> str | None:
    """`name` relative to the repo, if it is a file in it; symlinks in the repo are kept as they are named.

    Args:
        root: the repo.
        name: a word of the evaluate command, relative to the repo or absolute.
    """
    try:
        relative = PurePosixPath(name).relative_to(root) if PurePosixPath(name).is_absolute() else Path(name)
        if ".." in relative.parts or not (root / relative).is_file():
            return None
    except (OSError, ValueError):
        return None
    return relative.as_posix()


def is_linked(path: str, link: Sequence[str]) -> bool:
    """Whether a repo-relative path is, or lies below, a linked one.

    Args:
        path: relative to the repo.
        link: the `link` paths of the configuration.
    """
    return any(PurePosixPath(path).is_relative_to(PurePosixPath(linked)) for linked in link)


def escape(path: str) -> str:
    """A path as a gitignore pattern that matches only it."""
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)
