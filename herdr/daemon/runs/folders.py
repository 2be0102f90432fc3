"""Which folder and repository a run or a sweep works in, by its row."""

from __future__ import annotations

from pathlib import Path

from herdr.daemon.app_context import AppContext, Fleet
from herdr.repo.isolated import Isolated
from herdr.repo.names import slug
from herdr.repo.run_folder import RunFolder
from herdr.store.rows import Candidate, Idea, Run, Sweep, get


def folder_of_run(app: AppContext, fleet: Fleet, run: Run) -> RunFolder:
    """The folder of a run: the one that its row names, or where a new one goes.

    Args:
        app: the daemon.
        fleet: the project.
        run: the run.
    """
    title = slug(get(app.store, Idea, run.idea_id).title, length=32)
    # The home's id keeps two homes on one repo apart, which may both have a run of this number and title.
    fresh = fleet.root / ".worktrees" / f"run-{run.id}-{title}-{app.home.id}"
    return _folder(app, fleet, f"run-{run.id}", Path(run.worktree) if run.worktree else fresh, run.base_id,
                   run.branch or f"piloop/{slug(fleet.name)}/run-{run.id}")  # fmt: skip


def folder_of_sweep(app: AppContext, fleet: Fleet, sweep: Sweep) -> RunFolder:
    """The folder of a sweep, on no branch; see `folder_of_run`.

    Args:
        app: the daemon.
        fleet: the project.
        sweep: the sweep.
    """
    name = f"{sweep.role}-sweep-{sweep.id}"
    fresh = fleet.root / ".worktrees" / f"{name}-{app.home.id}"
    return _folder(app, fleet, name, Path(sweep.worktree) if sweep.worktree else fresh, sweep.base_id, None)


def _folder(
    app: AppContext, fleet: Fleet, name: str, worktree: Path, base_id: int, branch: str | None
) -> RunFolder:
    repository = app.home.repositories(fleet.root) / f"{name}.git"
    return RunFolder(
        name=name,
        own=fleet.own,
        place=Isolated(repository=repository, worktree=worktree),
        base=get(app.store, Candidate, base_id).commit_sha,
        branch=branch,
        link=fleet.config.linked,
        hooks=Path(fleet.own.snapshot.hooks) if fleet.config.hooks else None,
        remotes=fleet.config.remotes,
    )
