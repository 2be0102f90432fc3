"""For programs that are called in the folder of a run and act for the person in the checkout, outside of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from herdr.ops.client import CHECKOUT, MAILBOX, connect


def checkout_of_run(environ: Mapping[str, str], folder: Path) -> Path | None:
    """The person's checkout, when a program is called in the folder of a run, by its agent; None elsewhere.

    The folder's own repository is the run's: it has none of the person's remotes, nor what else is in theirs.

    Args:
        environ: the program's environment.
        folder: where it was called.
    """
    if not environ.get(CHECKOUT) or not environ.get(MAILBOX):
        return None
    worktree = Path(environ[MAILBOX]).parent.parent
    inside = folder.resolve().is_relative_to(worktree.resolve())
    return Path(environ[CHECKOUT]) if inside else None


def collect_run(environ: Mapping[str, str], folder: Path) -> list[str]:
    """Have the daemon bring the run's commits into the person's repository, where a pin keeps each.

    Objects are checked, and nothing else of the run's repository comes along: no branch, no tag, no setting.

    Args:
        environ: the environment of a program that a run's agent called.
        folder: where it was called.

    Returns:
        What could not be brought over, and why, a sentence each.

    Raises:
        HerdrError: the daemon does not answer, or refuses.
    """
    from herdr.ops.run import CollectRun

    client = connect(environ, folder)
    try:
        return client.ask(CollectRun()).problems
    finally:
        client.close()
