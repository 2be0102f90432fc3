"""Which local forge the `forge` commands work on, as whom, and with which text."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from herdr.api import HerdrError, Home
from herdr_polyresearch.forge.local import LocalForge
from herdr_polyresearch.forge.places import local_names, login_from, name_of, open_local

F = TypeVar("F", bound=Callable[..., object])


def common(function: F) -> F:
    """The options that every command here has."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--as", "login", metavar="LOGIN", help="Who you are; POLYRESEARCH_LOGIN when absent."),
        click.option("--repo", metavar="NAME", help="The local forge; the one of the remote origin when absent."),
    ):
        function = option(function)
    return function


def asked(*names: str) -> object:
    """An option of these names that was given before the command's name, to the program itself."""
    context: click.Context | None = click.get_current_context()
    while context is not None:
        for name in names:
            if context.params.get(name):
                return context.params[name]
        context = context.parent
    return None


def home() -> Path:
    """The home of herdr, where local forges live."""
    return Home.from_environ(os.environ).root


@contextmanager
def opened(repo: str | None, login: str | None) -> Iterator[LocalForge]:
    """The local forge that is meant.

    Raises:
        HerdrError: it is not clear which one is meant, or there is none of this name.
    """
    name = repo or asked("repo")
    if name is None:
        origin = git("remote", "get-url", "origin")
        name = name_of(origin, home()) if origin else None
    known = local_names(home())
    if name is None and len(known) == 1:
        name = known[0]
    if name is None:
        raise HerdrError(
            f"it is not clear which local forge is meant (there are: {', '.join(known) or 'none'})",
            fix="give --repo NAME, or make one: polyresearch forge init NAME",
        )
    place = open_local(str(name), home=home(), login=login or login_from(os.environ))
    try:
        yield place
    finally:
        place.close()


@contextmanager
def changing(repo: str | None, login: str | None) -> Iterator[LocalForge]:
    """The local forge that is meant, for a command that changes it; a dry run ends here."""
    with opened(repo, login) as place:
        if asked("dry_run"):
            context = click.get_current_context()
            click.echo(f"Would run `{context.command_path}` on {place.repo().full_name} as {place.whoami()}.")
            context.exit(0)
        yield place


def text_of(given: str) -> str:
    """A text as it was given, or from standard input for `-`."""
    return sound(sys.stdin.read() if given == "-" else given)


def sound(text: str) -> str:
    """A text that can be stored: halves of characters are dropped."""
    return text.encode("utf-8", "ignore").decode()


def git(*args: str, check: bool = False) -> str | None:
    """What git printed in the current folder; None when it failed.

    Raises:
        HerdrError: it failed and `check` is set.
    """
    try:
        done = subprocess.run(
            ["git", *args], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise HerdrError("git is not on PATH", fix="install git 2.38 or newer") from None
    if done.returncode and check:
        raise HerdrError(
            f"git {args[0]} failed: {done.stderr.strip()}", fix=f"try it yourself: git {' '.join(args)}"
        )
    return done.stdout.strip() or None if done.returncode == 0 else None
