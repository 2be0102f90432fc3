"""How commands ask for operations, as a person or as an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from herdr.errors import RefusedError
from herdr.home import Home, working_folder
from herdr.ops.client import MAILBOX, Client, connect
from herdr.ops.core import A, Request


@contextmanager
def asking() -> Iterator[Client]:
    """A client for several questions in a row."""
    client = connect(os.environ, working_folder())
    try:
        yield client
    finally:
        client.close()


def ask(request: Request[A]) -> A:
    """Ask for one operation and return its answer."""
    with asking() as client:
        return client.ask(request)


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
