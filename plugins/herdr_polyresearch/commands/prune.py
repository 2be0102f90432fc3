"""`polyresearch prune`: what is left of worktrees that are gone."""

from __future__ import annotations

from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.git import Git
from herdr_polyresearch.protocol.names import WORKTREES


@command()
def prune() -> None:
    """Have git forget worktrees whose folder is gone, and remove empty folders that are no worktrees."""
    project = Project()
    main = project.checkout.main
    git = Git(main)
    if not project.dry_run:
        git.do("worktree", "prune")
    rows = git.do("worktree", "list", "--porcelain").splitlines()
    known = {row.removeprefix("worktree ") for row in rows if row.startswith("worktree ")}
    removed, skipped = [], []
    folder = main / WORKTREES
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_dir() or path.is_symlink() or str(path.resolve()) in known or str(path) in known:
            continue
        if any(path.iterdir()):
            skipped.append(str(path))
            continue
        removed.append(str(path))
        if not project.dry_run:
            path.rmdir()
    done = "Would remove" if project.dry_run else "Removed"
    said = [f"{done} {path}" for path in removed] + [f"Left {path}: it is not empty" for path in skipped]
    data = {"removed_directories": removed, "skipped_directories": skipped}
    tell(project, data, "\n".join(said) or "There is nothing to prune.")
