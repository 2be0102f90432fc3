"""What a scripted agent can do, as data, and the edits among it as functions on a working tree."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TypeAlias

import msgspec

from herdr.errors import HerdrError

PROJECT = Path(__file__).parent / "project"
"""The demo project with every idea's module in it; a new project starts without them."""


class Say(msgspec.Struct, frozen=True):
    """Think aloud, then pause for some seconds."""

    text: str
    seconds: float = 0.7


class Add(msgspec.Struct, frozen=True):
    """Write a module, as it stands in `PROJECT`."""

    path: str


class Set(msgspec.Struct, frozen=True):
    """Change the line `name = …` of a module."""

    path: str
    name: str
    value: str


class Replace(msgspec.Struct, frozen=True):
    """Change a piece of text that occurs once."""

    path: str
    old: str
    new: str


class Check(msgspec.Struct, frozen=True):
    """Run the evaluator, as anybody would before a commit."""


class CommitAll(msgspec.Struct, frozen=True):
    """Commit everything."""

    message: str


class Look(msgspec.Struct, frozen=True):
    """Ask `piloop` what was tried before."""


class Find(msgspec.Struct, frozen=True):
    """Leave a finding on the run; `{first}` and `{last}` stand for the first and the last length seen."""

    text: str


class Listen(msgspec.Struct, frozen=True):
    """Wait for a message such as `800 kicks`, and if one comes, set `name` to its number, check and commit."""

    path: str
    name: str
    word: str
    seconds: float


class DieOnFirstStart(msgspec.Struct, frozen=True):
    """Exit at once with 1, the first time only."""


Edit: TypeAlias = Add | Set | Replace
Step: TypeAlias = Edit | Say | Check | CommitAll | Look | Find | Listen | DieOnFirstStart


def apply_edit(root: Path, edit: Edit) -> None:
    """Make one edit in a working tree.

    Args:
        root: the working tree.
        edit: what to change.

    Raises:
        HerdrError: the text to change is not there.
    """
    path = root / edit.path
    if isinstance(edit, Add):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PROJECT / edit.path, path)
        return
    text = path.read_text(encoding="utf-8")
    if isinstance(edit, Set):
        changed, count = re.subn(rf"^{edit.name} = .*$", f"{edit.name} = {edit.value}", text, flags=re.MULTILINE)
    else:
        changed, count = text.replace(edit.old, edit.new), text.count(edit.old)
    if count != 1:
        raise HerdrError(f"{edit.path}: found {count} places to change, not one", fix="git status")
    path.write_text(changed, encoding="utf-8")
