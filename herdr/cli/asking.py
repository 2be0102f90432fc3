"""How commands ask for operations, as a person or as an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from herdr.errors import RefusedError
from herdr.home import Home, working_folder
from herdr.ops.caller import refuse_agent, refuse_place
from herdr.ops.client import MAILBOX, Client, connect
from herdr.ops.core import A, Request

#: The option of `herdr` and `piloop` by which a person says that they are one.
AS_PERSON = "as_person"


@contextmanager
def asking() -> Iterator[Client]:
    """A client for several questions in a row."""
    client = client_here()
    try:
        yield client
    finally:
        client.close()


def client_here() -> Client:
    """A client for whoever typed the command, here; who asks for it closes it."""
    here = working_folder()
    return connect(os.environ, here, as_person=True) if as_person() else connect(os.environ, here)


def ask(request: Request[A]) -> A:
    """Ask for one operation and return its answer."""
    with asking() as client:
        return client.ask(request)


def home_for_people(what: str, *, acts: bool = True) -> Home:
    """The home, for a command that only people may call.

    Args:
        what: the command.
        acts: whether it changes anything, which a person who stands in a run's worktree has to ask for expressly.

    Raises:
        RefusedError: an agent calls it, or from a place where only an agent is expected.
    """
    if os.environ.get(MAILBOX):
        actor = os.environ.get("PILOOP_ACTOR", "an agent")
        raise RefusedError(
            f"{actor} may not use {what}", fix="write what you want in a comment; a person reads it"
        )
    refuse_agent(os.environ, what)
    home = Home.from_environ(os.environ)
    if acts and not as_person():
        refuse_place(home, working_folder(), what)
    return home


def as_person() -> bool:
    """Whether `--as-person` was typed."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get(AS_PERSON))
