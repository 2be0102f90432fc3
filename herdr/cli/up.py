"""`herdr up`: starts the fleet, or registers a repo with the running one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from herdr.cli.asking import home_for_people
from herdr.errors import HerdrError, UsageError
from herdr.home import Home


@click.command()
@click.argument("path", required=False)
@click.option("--detach", "-d", is_flag=True, help="Do not attach when it runs.")
@click.option("--foreground", is_flag=True, help="Be the daemon, for a service manager.")
def up(path: str | None, detach: bool, foreground: bool) -> None:
    """Start the fleet of the repo around PATH: its agents work through the ideas, in tmux.

    Registers the repo when it is not registered yet. While the daemon runs, this only registers. In a terminal it
    attaches when the fleet is there.
    """
    from herdr.cli.fleet import DAEMON, is_running, start_daemon
    from herdr.daemon.lock import DaemonRunningError, daemon_pid
    from herdr.mux.server import check_tmux

    home = home_for_people("up")
    check_tmux(os.environ)
    project = _register(home, path)
    if foreground:
        if is_running(home):
            raise DaemonRunningError(
                f"a daemon (pid {daemon_pid(home)}) already runs for {home.root}", fix="herdr down stops it"
            )
        click.echo(f"the daemon runs in the foreground; it logs to {home.log}")
        sys.stdout.flush()
        os.execv(DAEMON[0], DAEMON)  # noqa: S606 - the service manager watches this very process
    pid = daemon_pid(home)
    if pid is not None:
        click.echo(f"the daemon is already running (pid {pid})")
    else:
        click.echo(f"the daemon runs (pid {start_daemon(home)})")
    if project is None:
        return
    _wait_for_fleet(home, project)
    click.echo(f"look:  herdr attach {project}    herdr status")
    click.echo('steer: piloop prompt worker#N "text"    piloop comment add idea#N "text"')
    click.echo("stop:  herdr down    (agents go on; --kill-agents ends them)")
    if not detach and sys.stdin.isatty() and sys.stdout.isatty():
        from herdr.cli.attach import attach_to

        attach_to(home, project)


def _register(home: Home, path: str | None) -> str | None:
    """Register the repo, and return the project's name; None for the daemon alone, outside of any repo."""
    from herdr.repo.checks import find_root
    from herdr.setup import set_up

    if path is None and home.database.exists():
        try:
            find_root(Path())
        except UsageError:
            return None
    root = find_root(Path(path or "."))
    _refuse_subprocess(root)
    if (known := _registered(home, root)) is not None:
        return known
    return set_up(home, root, os.environ, actor="human", tell=click.echo).project.name


def _refuse_subprocess(root: Path) -> None:
    from herdr.config import FILE_NAME, read_config

    if (root / FILE_NAME).exists() and read_config(root, os.environ).runtime != "herdr":
        raise HerdrError(
            f'the runtime of {root / FILE_NAME} is "subprocess", which cannot run agents yet',
            fix='set runtime = "herdr" in it, above its first [table]',
        )


def _registered(home: Home, root: Path) -> str | None:
    from herdr.store.connection import open_store
    from herdr.store.rows import Project, find

    if not home.database.exists():
        return None
    store = open_store(home.database, mode="person", actor="human")
    try:
        project = find(store, Project, "WHERE path = ?", str(root))
        return project.name if project else None
    finally:
        store.close()


def _wait_for_fleet(home: Home, name: str) -> None:
    from herdr.cli.fleet import FLEET_PATIENCE, session_of, tmux_of, wait_until
    from herdr.cli.projects import project_named

    project = project_named(home, name)
    server = tmux_of(home, project)
    if not wait_until(lambda: session_of(server, project) is not None, FLEET_PATIENCE):
        wrong = project_named(home, name).config_error
        raise HerdrError(
            f"the fleet of {name} is not in tmux after {FLEET_PATIENCE:.0f} s: {wrong or 'the daemon is busy'}",
            fix=f"herdr status; the daemon's log is {home.log}",
        )
