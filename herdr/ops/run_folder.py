"""The folder of a run that has one, by its row: for commands and operations, which know no fleet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from herdr.home import Home
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Run, get

if TYPE_CHECKING:
    from herdr.repo.own import OwnRepository
    from herdr.repo.run_folder import RunFolder


def stored_folder(
    store: Store, home: Home, own: OwnRepository, run: Run, *, link: tuple[str, ...] = ()
) -> RunFolder:
    """The folder of a run.

    Args:
        store: the campaign.
        home: the home.
        own: herdr's own repository of the run's project.
        run: its row, with a worktree.
        link: paths in the worktree that are not the agent's work, relative to it.
    """
    from herdr.repo.isolated import Isolated
    from herdr.repo.run_folder import RunFolder

    name = f"run-{run.id}"
    repository = home.repositories(own.root) / f"{name}.git"
    return RunFolder(
        name=name,
        own=own,
        place=Isolated(repository=repository, worktree=Path(run.worktree or "")),
        base=get(store, Candidate, run.base_id).commit_sha,
        branch=run.branch,
        link=link,
        # Whatever the person's remotes have is not the run's, whether it could fetch from them or not.
        remotes=True,
    )
