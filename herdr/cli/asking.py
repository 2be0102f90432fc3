"""How commands ask for operations, as a person or as an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from herdr.errors import HerdrError, RefusedError
from herdr.home import Home
from herdr.ops.client import MAILBOX, Client, connect


@contextmanager
def asking() -> Iterator[Client]:
    """A client for several questions in a row."""
    client = connect(os.environ, working_folder())
    try:
        yield client
    finally:
        client.close()


def ask(name: str, /, **arguments: object) -> Any:
    """Ask for one operation and return its answer as plain data."""
    with asking() as client:
        return client.call(name, **arguments)


def working_folder() -> Path:
    """The folder that the command was typed in.

    Raises:
        HerdrError: it was deleted.
    """
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise HerdrError("the folder that you are in was deleted", fix="cd to another one") from error


def home_for_people(what: str) -> Home:
    """The home, for a command that only people may call.

    Raises:
        RefusedError: an agent calls it.
    """
    if os.environ.get(MAILBOX):
        actor = os.environ.get("PILOOP_ACTOR", "an agent")
        raise RefusedError(
            f"{actor} may not use {what}", fix="write what you want in a comment; a person reads it"
        )
    return Home.from_environ(os.environ)
