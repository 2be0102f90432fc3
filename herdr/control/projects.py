"""Projects as a person's programs find them: rows that they need whole, read from the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from herdr.home import Home, working_folder
from herdr.ops.client import refuse_without_database
from herdr.ops.core import Context, project_of
from herdr.store.connection import open_store
from herdr.store.rows import Project


@contextmanager
def reading(home: Home) -> Iterator[Context]:
    """The store, as a person reads it from here.

    Raises:
        HerdrError: nothing is registered, or the store cannot be read.
    """
    refuse_without_database(home)
    store = open_store(home.database, mode="person", actor="human")
    try:
        yield Context(conn=store, home=home, actor="human", cwd=working_folder())
    finally:
        store.close()


def project_named(home: Home, name: str | None) -> Project:
    """The project of a name or path, the one around, or the only one.

    Args:
        home: where projects are registered.
        name: a project's name or a path inside its repo; None for the one around, or the only one.
    """
    with reading(home) as context:
        return project_of(context, name)
