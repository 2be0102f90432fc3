"""Makes the demo project: a git repo with its first commit."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from herdr.errors import HerdrError
from herdr.python import module_argv

from .ideas import ADDED
from .steps import PROJECT


def create_project(directory: Path) -> Path:
    """Make a git repo with the plain baseline in it, ready for `herdr init`.

    Args:
        directory: where; it may exist, but must be empty.

    Returns:
        The root of the repo, resolved.

    Raises:
        HerdrError: the directory is in use, cannot be written, or git fails.
    """
    root = directory.expanduser().resolve()
    try:
        root.mkdir(parents=True, exist_ok=True)
        if any(root.iterdir()):
            raise HerdrError(f"{root} is not empty", fix="name a new directory: herdr demo DIR")
        _write_baseline(root)
    except OSError as error:
        problem = error.strerror or str(error)
        raise HerdrError(f"cannot make the demo in {root}: {problem}", fix="herdr demo DIR") from error
    _commit(root)
    return root


def _write_baseline(root: Path) -> None:
    for source in sorted(PROJECT.rglob("*")):
        path = source.relative_to(PROJECT)
        if source.is_file() and "__pycache__" not in path.parts and path.as_posix() not in ADDED:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, root / path)
    config = root / "piloop.toml"
    # A JSON list of strings is a TOML one too. The interpreter is ours: a `python3` on PATH may be another one.
    agent = json.dumps([*module_argv("herdr.demo.agent"), "{brief}"], ensure_ascii=False)
    evaluate = json.dumps([sys.executable, "evaluate.py"], ensure_ascii=False)
    text = config.read_text(encoding="utf-8")
    text = text.replace("interactive = []", f"interactive = {agent}")
    text = text.replace('evaluate = ["python3", "evaluate.py"]', f"evaluate = {evaluate}")
    config.write_text(text, encoding="utf-8")


def _commit(root: Path) -> None:
    _git(root, "init", "--quiet", "--initial-branch", "main")
    # The repo's own identity: the demo also has to run where git was never set up, and must not ask for a key.
    for key, value in (
        ("user.name", "herdr demo"),
        ("user.email", "demo@localhost"),
        ("commit.gpgsign", "false"),
    ):
        _git(root, "config", key, value)
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "-m", "A round trip through 250 cities, from neighbour to neighbour")


def _git(root: Path, *arguments: str) -> None:
    try:
        subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise HerdrError("git is not installed", fix="install git 2.38 or newer") from None
    except subprocess.CalledProcessError as error:
        problem = error.stderr.strip() or f"exit status {error.returncode}"
        raise HerdrError(f"git {arguments[0]} failed in {root}: {problem}", fix="herdr doctor") from None
