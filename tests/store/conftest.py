"""A store with one project and one idea, and the same file seen by a plain sqlite3 connection."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from herdr.store.connection import Store, open_store, transaction

ROWS = """
INSERT INTO projects (name, path, config, actor) VALUES ('p', '/p', '{}', 'human');
INSERT INTO ideas (project_id, title, source, actor) VALUES (1, 'first', 'worker#1', 'worker#1');
INSERT INTO candidates (project_id, tree_sha, commit_sha, subject, origin, touched, actor)
    VALUES (1, 't', 'c', 's', 'baseline', '[]', 'daemon');
INSERT INTO runs (project_id, idea_id, number, base_id, harness, actor) VALUES (1, 1, 1, 1, 'command', 'daemon');
INSERT INTO agents (project_id, run_id, harness, session_id, token_hash, actor)
    VALUES (1, 1, 'command', 's', 'secret', 'daemon');
INSERT INTO comments (project_id, target_kind, target_id, kind, body, actor)
    VALUES (1, 'idea', 1, 'note', 'hello', 'worker#1')
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "herdr.db"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, and copied for each test."""
    path = tmp_path_factory.mktemp("template") / "herdr.db"
    with closing(open_store(path, mode="daemon", actor="human")) as store, transaction(store):
        for statement in ROWS.split(";"):
            store.execute(statement)
    return path


@pytest.fixture
def store(template: Path, path: Path) -> Iterator[Store]:
    path.parent.mkdir()
    shutil.copy(template, path)
    with closing(open_store(path, mode="daemon", actor="human")) as store:
        yield store


@pytest.fixture
def plain(store: Store, path: Path) -> Iterator[Callable[[str], list[tuple[object, ...]]]]:
    """What a person, or a worker that found the file, can do with `sqlite3 herdr.db`."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield lambda statement: connection.execute(statement).fetchall()
