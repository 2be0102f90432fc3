"""`herdr up`: starts the fleet, or registers a repo with the running one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from herdr.cli.asking import home_for_people
from herdr.cli.init import register
from herdr.errors import HerdrError, UsageError
from herdr.home import Home
from herdr.store.queries import project_at
from herdr.store.rows import Project


@click.command()
@click.argument("path", required=False)
@click.option("--detach", "-d", is_flag=True, help="Do not attach when it runs.")
@click.option("--foreground", is_flag=True, help="Be the daemon, for a service manager.")
def up(path: str | None, detach: bool, foreground: bool) -> None:
    """Start the fleet of the repo around PATH: its agents work through the ideas.

    Registers the repo when it is not registered yet. While the daemon runs, this only registers. In a terminal it
    attaches when the fleet is in tmux; with runtime = "subprocess" there is nothing to attach to.
    """
    from herdr.control.daemon import DAEMON, is_running, start_daemon
    from herdr.daemon.lock import DaemonRunningError, daemon_pid, stalled
    from herdr.mux.server import check_tmux

    home = home_for_people("up")
    root = _repo(home, path)
    panes = _needs_tmux(home, root)
    if panes:
        check_tmux(os.environ)
    project = _register(home, root) if root is not None else None
    if root is not None and project is not None:
        _take_up_git_settings(home, root, project)
    if foreground:
        if is_running(home):
            raise DaemonRunningError(
                f"a daemon (pid {daemon_pid(home)}) already runs for {home.root}", fix="herdr down stops it"
            )
        click.echo(f"the daemon runs in the foreground; it logs to {home.log}")
        sys.stdout.flush()
        os.execv(DAEMON[0], DAEMON)  # noqa: S606 - the service manager watches this very process
    pid = daemon_pid(home)
    if pid is not None and (silent := stalled(home)) is not None:
        raise HerdrError(
            f"the daemon (pid {pid}) has not worked any more for {silent / 60:.0f} minutes, and starts nothing",
            fix=f"herdr down && herdr up    (its log: {home.log})",
        )
    if pid is not None:
        click.echo(f"the daemon is already running (pid {pid})")
    else:
        click.echo(f"the daemon runs (pid {start_daemon(home)})")
    if project is None:
        return
    panes = _wait_for_fleet(home, project)
    _say_what_next(project, panes=panes)
    if panes and not detach and sys.stdin.isatty() and sys.stdout.isatty():
        from herdr.cli.attach import attach_to

        attach_to(home, project)


def _say_what_next(project: str, *, panes: bool) -> None:
    if panes:
        click.echo(f"look:  herdr attach {project}    herdr status")
        click.echo('steer: piloop prompt worker#N "text"    piloop comment add idea#N "text"')
    else:
        click.echo("look:  herdr status    herdr logs worker#N")
        click.echo('steer: piloop comment add idea#N "text"    (the brief of its next run carries it)')
    click.echo("stop:  herdr down    (agents go on; --kill-agents ends them)")


def _repo(home: Home, path: str | None) -> Path | None:
    """The repo that is meant; None for the daemon alone, outside of any repo."""
    from herdr.repo.checks import find_root

    if path is None and home.database.exists():
        try:
            find_root(Path())
        except UsageError:
            return None
    return find_root(Path(path or "."))


def _needs_tmux(home: Home, root: Path | None) -> bool:
    """Whether agents will run in panes: those of the repo, or of any project where only the daemon is started."""
    from herdr.config import FILE_NAME, read_config
    from herdr.control.projects import reading
    from herdr.ops.stored_config import in_background
    from herdr.store.rows import fetch

    if root is not None:
        # What is registered starts with its last good configuration; the daemon takes up edits by itself.
        if (known := _registered(home, root)) is not None:
            return not in_background(known)
        return not (root / FILE_NAME).exists() or read_config(root, os.environ).runtime == "herdr"
    with reading(home) as context:
        return not all(in_background(project) for project in fetch(context.conn, Project, "ORDER BY id"))


def _take_up_git_settings(home: Home, root: Path, project: str) -> None:
    """Have agents and herdr's own git work with the person's settings of now, and say what is new in them."""
    from herdr.repo.checks import refuse
    from herdr.repo.own import own_of, refresh

    refuse(root)
    for change in refresh(own_of(home, root, project)):
        click.echo(f"taken over from git's settings: {change}")


def _register(home: Home, root: Path) -> str:
    """Register the repo unless it is, and return the project's name."""
    known = _registered(home, root)
    return known.name if known is not None else register(home, root)


def _registered(home: Home, root: Path) -> Project | None:
    from herdr.store.connection import open_store

    if not home.database.exists():
        return None
    store = open_store(home.database, mode="person", actor="human")
    try:
        return project_at(store, str(root))
    finally:
        store.close()


def _wait_for_fleet(home: Home, name: str) -> bool:
    """Wait until the daemon has opened the fleet; whether it is in tmux."""
    from herdr.control.daemon import FLEET_PATIENCE, wait_until
    from herdr.control.projects import project_named
    from herdr.control.sessions import session_of, tmux_of
    from herdr.ops.stored_config import in_background

    def opened() -> bool:
        # Read anew each time: the daemon may take up another runtime or socket first.
        project = project_named(home, name)
        return in_background(project) or session_of(tmux_of(home, project), project) is not None

    if not wait_until(opened, FLEET_PATIENCE):
        wrong = project_named(home, name).config_error
        raise HerdrError(
            f"the fleet of {name} is not in tmux after {FLEET_PATIENCE:.0f} s: {wrong or 'the daemon is busy'}",
            fix=f"herdr status; the daemon's log is {home.log}",
        )
    return not in_background(project_named(home, name))
