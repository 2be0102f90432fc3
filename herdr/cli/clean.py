"""`herdr clean`: removes what ended runs left, if nothing is lost; names what stays, and why."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import msgspec

from herdr.cli.asking import home_for_people
from herdr.config import Config
from herdr.errors import HerdrError
from herdr.home import Home
from herdr.ops.core import Context
from herdr.printing.values import several
from herdr.store.queries import all_projects
from herdr.store.rows import Project, Run, fetch

#: The folder of a scoring by `herdr init`, with the pid of the command.
BY_INIT = re.compile(r"init-(\d+)-")
#: The folder of one attempt at a scoring, and how one begins that could not be removed when it was over.
ATTEMPT, GONE = re.compile(r"(\d+)-[0-9a-f]{8}"), "gone-"


class Leftover(msgspec.Struct, frozen=True, kw_only=True):
    """Something that an ended run left; `stays` says why it may not go."""

    what: str
    stays: str | None = None


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def clean(dry_run: bool) -> None:
    """Remove worktrees, windows, evaluations and profiles that nothing needs any more.

    A worktree stays while it holds uncommitted or unpinned work, or is in use; whatever herdr did not make stays.
    """
    from herdr.control.projects import reading

    home = home_for_people("clean")
    with reading(home) as context:
        removed = 0
        for leftover in _everything(context, home, dry_run=dry_run):
            if leftover.stays is not None:
                click.echo(f"stays: {leftover.what}: {leftover.stays}")
                continue
            removed += 1
            click.echo(f"{'would remove' if dry_run else 'removed'}: {leftover.what}")
    click.echo(f"{several(removed, 'thing')} {'to remove' if dry_run else 'removed'}")


def _everything(context: Context, home: Home, *, dry_run: bool) -> Iterator[Leftover]:
    from herdr.mux.server import TmuxMissingError

    projects = all_projects(context.conn)
    for project in projects:
        yield from _worktrees(context, home, project, dry_run=dry_run)
        try:
            yield from _windows(context, home, project, dry_run=dry_run)
        except TmuxMissingError as error:
            yield Leftover(what=f"windows of {project.name}", stays=error.message)
    yield from _evaluations(context, home, dry_run=dry_run)
    yield from _profiles(home, {project.name for project in projects}, dry_run=dry_run)


def _worktrees(context: Context, home: Home, project: Project, *, dry_run: bool) -> Iterator[Leftover]:
    from herdr.ops.run_folder import stored_folder
    from herdr.repo.own import own_of

    runs = fetch(context.conn, Run, "WHERE project_id = ? AND worktree IS NOT NULL ORDER BY id", project.id)
    present = [run for run in runs if os.path.lexists(run.worktree or "")]
    if not present:
        return
    own = own_of(home, Path(project.path), project.name)
    link = Config.from_json(project.config).linked
    for run in present:
        folder = stored_folder(context.conn, home, own, run, link=link)
        try:
            reason = "it is in use" if run.settled_at is None else folder.removable()
            if reason is None and not dry_run:
                folder.remove()
        except HerdrError as error:
            reason = error.message
        yield Leftover(what=f"worktree {folder.place.worktree} of run#{run.id}", stays=reason)


def _windows(context: Context, home: Home, project: Project, *, dry_run: bool) -> Iterator[Leftover]:
    """The windows of ended agents; one whose end no daemon has seen yet still holds its last screen."""
    from herdr.control.sessions import session_of, tmux, tmux_of
    from herdr.mux.windows import AGENT_OPTION

    server = tmux_of(home, project)
    session = session_of(server, project)
    if session is None:
        return
    unseen = {row[0] for row in context.conn.execute("SELECT window FROM agents WHERE state <> 'ended'")}
    fields = f"#{{window_id}} #{{pane_dead}} #{{?{AGENT_OPTION},1,0}} #{{window_panes}} #{{window_name}}"
    for line in tmux(server, "list-panes", "-s", "-t", session, "-F", fields).splitlines():
        window, dead, ours, panes, name = line.split(" ", 4)
        if (dead, ours, panes) == ("1", "1", "1") and window not in unseen:
            if not dry_run:
                tmux(server, "kill-window", "-t", window)
            yield Leftover(what=f"window {name} of {project.name}")


def _evaluations(context: Context, home: Home, *, dry_run: bool) -> Iterator[Leftover]:
    """What scorings printed that are done, and the remains of those that nobody will go on with."""
    folders = _folders(home.root / "evaluations")
    # After the folders: one of an attempt is made only once its scoring is in progress.
    states = {str(row[0]): row[1] for row in context.conn.execute("SELECT id, state FROM measurements")}
    for folder in folders:
        if _left_by_scoring(folder.name, states) or _left_by_init(folder.name):
            reason = None if dry_run else _remove_evaluation(folder)
            yield Leftover(what=f"evaluation {folder}", stays=reason)


def _left_by_scoring(name: str, states: Mapping[str, str]) -> bool:
    """Whether it is one of a scoring that is done, or of an attempt that is over."""
    attempt = ATTEMPT.fullmatch(name)
    if attempt is not None:
        return states.get(attempt[1]) != "running"
    return name.startswith(GONE) or states.get(name) == "done"


def _left_by_init(name: str) -> bool:
    import psutil

    by = BY_INIT.match(name)
    return by is not None and not psutil.pid_exists(int(by[1]))


def _remove_evaluation(folder: Path) -> str | None:
    from herdr.repo.files import delete_tree

    try:
        delete_tree(folder)
    except OSError as error:
        return str(error)
    return None


def _profiles(home: Home, known: set[str], *, dry_run: bool) -> Iterator[Leftover]:
    """What harnesses kept for projects that are gone; workspaces hold people's data, and stay."""
    for folder in _folders(home.root / "profiles"):
        if folder.name not in known:
            if not dry_run:
                shutil.rmtree(folder, ignore_errors=True)
            yield Leftover(what=f"profile {folder}")
    for folder in _folders(home.root / "workspaces"):
        if folder.name not in known:
            yield Leftover(what=f"workspace {folder}", stays="no project uses it, but it may hold data of yours")


def _folders(parent: Path) -> list[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
