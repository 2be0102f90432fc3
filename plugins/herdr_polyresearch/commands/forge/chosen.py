"""Which local forge the `forge` commands work on, as whom, and with which text."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from herdr.api import HerdrError, Home
from herdr_polyresearch.forge.local import LocalForge
from herdr_polyresearch.forge.local_forges import local_names, login_from, name_of, open_local
from herdr_polyresearch.git import Git


def asked(name: str) -> str | None:
    """An option of the program, wherever on the command line it stood; None when it was not given."""
    value = click.get_current_context().find_root().params.get(name)
    return str(value) if value else None


def home() -> Path:
    """The home of herdr, where local forges live."""
    return Home.from_environ(os.environ).root


def login() -> str:
    """Who we are."""
    return asked("login") or login_from(os.environ)


@contextmanager
def opened() -> Iterator[LocalForge]:
    """The local forge that is meant: the one named, that of the remote origin, or the only one there is.

    Raises:
        HerdrError: it is not clear which one is meant, or there is none of this name.
    """
    name, known = asked("repo"), local_names(home())
    if name is None:
        origin = git().ask("remote", "get-url", "origin")
        name = name_of(origin, home()) if origin else None
    if name is None and len(known) == 1:
        name = known[0]
    if name is None:
        raise HerdrError(
            f"it is not clear which local forge is meant (there are: {', '.join(known) or 'none'})",
            fix="give --repo NAME, or make one: polyresearch forge init NAME",
        )
    local = open_local(name, home=home(), login=login())
    try:
        yield local
    finally:
        local.close()


@contextmanager
def changing() -> Iterator[LocalForge]:
    """The local forge that is meant, for a command that changes it; a dry run ends here."""
    with opened() as local:
        if asked("dry_run"):
            context = click.get_current_context()
            click.echo(f"Would run `{context.command_path}` on {local.repo().full_name} as {local.whoami()}.")
            context.exit(0)
        yield local


def text_of(given: str) -> str:
    """A text as it was given, or from standard input for `-`."""
    return sound(sys.stdin.read() if given == "-" else given)


def sound(text: str) -> str:
    """A text that can be stored: halves of characters are dropped."""
    return text.encode("utf-8", "ignore").decode()


def git() -> Git:
    """Make a runner of git where we are."""
    return Git(Path.cwd())
