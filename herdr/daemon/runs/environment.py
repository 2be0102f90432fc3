"""What an agent's environment says of folders: its worktree, and the person's checkout only where it has to.

An agent that meets a path of the checkout may follow it and work there. So a list of folders to look in leads to
the worktree's own ones, and git does not climb from a worktree without its `.git` into the repository around it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from herdr.ops.client import CHECKOUT

CEILING = "GIT_CEILING_DIRECTORIES"
#: What tools remember of the folder that `herdr up` was typed in; direnv would even put its PATH back.
LEFT_BEHIND = frozenset(("PWD", "OLDPWD", "INIT_CWD"))
DIRENV = "DIRENV_"


def agent_environment(environ: Mapping[str, str], root: Path, worktree: Path) -> dict[str, str]:
    """The environment of an agent, before what its harness and its mailbox add.

    Args:
        environ: what it inherits.
        root: the person's checkout.
        worktree: the folder that the agent works in.
    """
    kept = {name: value for name, value in environ.items() if name not in LEFT_BEHIND and name[:7] != DIRENV}
    moved = {name: _moved(value, root, worktree) for name, value in kept.items() if name.endswith("PATH")}
    ceilings = [str(worktree.parent), *filter(None, [environ.get(CEILING)])]
    return {**kept, **moved, CEILING: os.pathsep.join(ceilings), CHECKOUT: str(root)}


def _moved(listed: str, root: Path, worktree: Path) -> str:
    """A list of folders, of which those in the checkout are the same ones in the worktree.

    One that the worktree does not have stays: the evaluate command finds its programs there, too.
    """
    return os.pathsep.join(_counterpart(entry, root, worktree) for entry in listed.split(os.pathsep))


def _counterpart(entry: str, root: Path, worktree: Path) -> str:
    path = Path(os.path.normpath(entry)) if entry else Path()
    for known in (root, root.resolve()):
        if path.is_relative_to(known):
            mine = worktree / path.relative_to(known)
            return str(mine) if mine.exists() else entry
    return entry
