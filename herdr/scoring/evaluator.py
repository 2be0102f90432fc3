"""What the evaluator of a project is, and the key that says whether two scores are comparable."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from herdr.config import Config
from herdr.errors import HerdrError
from herdr.repo.checks import SUBMODULE
from herdr.repo.overlay import Protected, protected_entries
from herdr.repo.own import OwnRepository
from herdr.scoring.contents import record
from herdr.store.rows import Evaluator, Project, find, get

#: Protected like the others, but not part of the key: policy and prose change no score.
NOT_IN_KEY = ("piloop.toml", "*.md")
#: Git's mode of an ordinary file.
REGULAR = 0o100644


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """All that makes a score what it is.

    Attributes:
        argv: the evaluate command.
        link: the paths that are linked.
        shared: those of them that are meant to be written to.
        setup: the command that makes a worktree ready; empty where there is none.
        metrics: each metric's name and direction.
        protected: gitignore patterns of what candidates may not change.
        files: what these cover: mode and id by path.
        contents: what each of those files holds once checked out, see `scoring.contents`; nothing in a definition
            that an older herdr stored.
    """

    argv: Sequence[str]
    link: Sequence[str]
    metrics: Sequence[tuple[str, str]]
    protected: Sequence[str]
    files: Mapping[str, str]
    contents: Mapping[str, str] = {}
    shared: Sequence[str] = ()
    setup: Sequence[str] = ()

    @property
    def key(self) -> str:
        """A hash over argv, links, set-up, metric names and directions, and the content of what is protected."""
        scored = {
            p: blob for p, blob in sorted(self.files.items()) if p != NOT_IN_KEY[0] and not p.endswith(".md")
        }
        content: list[object] = [list(self.argv), sorted(self.link), sorted(self.metrics), scored]
        # Only where there are some: the keys of those that older herdrs stored have to stay what they are.
        for name, given in (("shared", sorted(self.shared)), ("setup", list(self.setup))):
            content += [[name, given]] if given else []
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def define(config: Config, own: OwnRepository, commit: str) -> Definition:
    """Describe the evaluator that `commit` holds.

    Args:
        config: the project's configuration.
        own: the project's repository of herdr's own.
        commit: where the protected files are taken from.

    Raises:
        HerdrError: a file that the evaluate command names is in the checkout, but not in the commit.
    """
    patterns = config.protected_patterns(own.root)
    entries = protected_entries(own, commit, patterns)
    for word in (word.removeprefix("./") for word in config.evaluate):
        in_checkout = not Path(word).is_absolute() and (own.root / word).is_file()
        if in_checkout and word not in entries and Protected(patterns).covers(word, REGULAR):
            raise HerdrError(
                f"{word} is not in commit {commit[:10]}, so it could not score anything",
                fix=f"git add {word} && git commit, then run `herdr init` again",
            )
    return Definition(
        argv=config.evaluate,
        link=config.linked,
        shared=config.shared,
        setup=config.setup.command if config.setup is not None else (),
        metrics=[(metric.name, metric.direction) for metric in config.metrics],
        protected=patterns,
        files={path: f"{mode:o} {blob}" for path, (mode, blob) in entries.items()},
        contents=record(own, commit, [path for path, (mode, _) in entries.items() if mode != SUBMODULE]),
    )


def complete(definition: Definition, own: OwnRepository, commit: str) -> Definition:
    """The definition with the contents of its files, which one that an older herdr stored does not have.

    Args:
        definition: as it was stored.
        own: the project's repository of herdr's own.
        commit: the evaluator's commit.
    """
    if definition.contents or not definition.files:
        return definition
    files = [path for path, entry in definition.files.items() if not entry.startswith(f"{SUBMODULE:o} ")]
    return msgspec.structs.replace(definition, contents=record(own, commit, files))


def register(conn: sqlite3.Connection, project_id: int, definition: Definition, commit: str, actor: str) -> int:
    """Make this the project's evaluator and return its id; one with the same key is taken up again.

    Args:
        conn: in a transaction.
        project_id: the project.
        definition: what the evaluator is.
        commit: the full id of the commit that its protected files are taken from.
        actor: who signs the change, such as `human` or `daemon`.
    """
    known = find(conn, Evaluator, "WHERE project_id = ? AND key = ?", project_id, definition.key)
    text = msgspec.json.encode(definition).decode()
    if known is None:
        evaluator_id = Evaluator.insert(
            conn, project_id=project_id, key=definition.key, commit_sha=commit, definition=text, actor=actor
        )
    else:
        evaluator_id = known.id
        Evaluator.update(conn, known.id, commit_sha=commit, definition=text, actor=actor)
    if get(conn, Project, project_id).evaluator_id != evaluator_id:
        Project.update(conn, project_id, evaluator_id=evaluator_id, actor=actor)
    return evaluator_id


def read_definition(evaluator: Evaluator) -> Definition:
    """The definition as it was stored."""
    return msgspec.json.decode(evaluator.definition, type=Definition)
