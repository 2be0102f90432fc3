"""One definition of each vocabulary and of each column: schema, rows and the keywords of writing agree."""

from __future__ import annotations

import ast
import re
import sqlite3
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import herdr
from herdr.contract import harness, words
from herdr.contract.harness import Cause
from herdr.repo import linked
from herdr.store import columns
from herdr.store.connection import Store
from herdr.store.rows import Agent, Candidate, Event, Idea, Project, Row, Run, find, get

TABLES = {kind.table: kind for kind in Row.__subclasses__()}
WRITTEN = [kind for kind in TABLES.values() if kind is not Event]
#: Triggers and `emit` write it: `test_event_kinds.py` holds it equal to them.
UNCHECKED = {("events", "kind")}
#: Tables that no row stands for.
OTHER_WORDS = {("idea_links", "kind"): words.LinkKind}
#: A trigger copies it from `target_kind`, which has the CHECK.
COPIED = {("comments", "about_kind")}
#: What is not a text, but one of two numbers.
FLAG = frozenset({"0", "1"})


def schema_words(store: Store) -> dict[tuple[str, str], frozenset[str]]:
    """The words of every `CHECK (column IN (…))`."""
    found = {}
    for table, sql in store.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'"):
        for column, among in re.findall(r"CHECK \((\w+) IN \(([^()]*)\)\)", sql):
            found[table, column] = frozenset(word.strip().strip("'") for word in among.split(","))
    return found


def alternatives(hint: Any) -> tuple[Any, ...]:
    """The parts of a union, without None."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(part for part in parts if part is not NoneType)


def literal_words(hint: Any) -> frozenset[str] | None:
    """The words of a column's type, or None where it is no vocabulary."""
    (one,) = alternatives(hint)
    return frozenset(get_args(one)) if get_origin(one) is Literal else None


def changes(kind: type[Row]) -> Any:
    return getattr(columns, f"{kind.__name__}Changes")


def new(kind: type[Row]) -> Any:
    return getattr(columns, f"New{kind.__name__}", changes(kind))


def schema_columns(store: Store, table: str) -> list[sqlite3.Row]:
    return store.execute(f"SELECT * FROM pragma_table_info('{table}') WHERE name <> 'id'").fetchall()


def test_every_row_of_the_schema_is_looked_at() -> None:
    assert set(TABLES) >= {"projects", "ideas", "runs", "agents", "candidates", "measurements", "comments"}
    assert {kind.__name__ for kind in WRITTEN} == {
        name.removesuffix("Changes") for name in vars(columns) if name.endswith("Changes")
    }


def test_the_words_of_the_schema_are_the_words_of_the_rows(store: Store) -> None:
    """A word that only one of them knows is refused by SQLite, or by mypy, or read as an error."""
    of_schema = {where: known for where, known in schema_words(store).items() if known != FLAG}
    of_rows = dict.fromkeys(of_schema, frozenset()) | {
        where: frozenset(get_args(vocabulary)) for where, vocabulary in OTHER_WORDS.items()
    }
    for table, kind in TABLES.items():
        for column, hint in get_type_hints(kind).items():
            known = literal_words(hint) if column != "table" else None
            if known is not None and (table, column) not in COPIED | UNCHECKED:
                of_rows[table, column] = known
    assert of_rows == of_schema
    assert of_schema["agents", "cause"] == frozenset(get_args(Cause))
    assert "refused" in of_schema["runs", "end_cause"]


def test_every_yes_or_no_of_the_schema_is_one_of_the_rows(store: Store) -> None:
    flags = {where for where, known in schema_words(store).items() if known == FLAG}
    assert flags == {
        (t, c) for t, kind in TABLES.items() for c, hint in get_type_hints(kind).items() if hint is bool
    }


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.table)
def test_what_can_be_written_are_the_columns_of_the_schema(store: Store, kind: type[Row]) -> None:
    there = schema_columns(store, kind.table)
    assert set(new(kind).__annotations__) | {"actor"} == {column["name"] for column in there}
    must = {column["name"] for column in there if column["notnull"] and column["dflt_value"] is None}
    said_once = new(kind).__required_keys__
    assert said_once <= must
    assert must - said_once <= set(changes(kind).__annotations__) | {"actor"}


@pytest.mark.parametrize("kind", WRITTEN, ids=lambda kind: kind.table)
def test_a_column_has_one_type_whether_it_is_written_or_read(store: Store, kind: type[Row]) -> None:
    written, read = get_type_hints(new(kind)), get_type_hints(kind)
    fields = set(kind.__struct_fields__) - {"id", "actor"}
    assert {name: written[name] for name in fields} == {name: read[name] for name in fields}
    empty = {column["name"] for column in schema_columns(store, kind.table) if not column["notnull"]}
    assert {name for name, hint in written.items() if NoneType in get_args(hint)} == empty


def test_every_field_of_a_row_is_a_column(store: Store) -> None:
    for kind in TABLES.values():
        there = {column["name"] for column in schema_columns(store, kind.table)}
        assert set(kind.__struct_fields__) - {"id"} <= there


def test_rows_are_written_and_read_with_their_words(store: Store) -> None:
    idea = Idea.insert(store, project_id=1, title="second", source="human", status="seed", actor="human")
    Idea.update(store, idea, status="ready", plan="so", actor="human")
    assert (get(store, Idea, idea).status, get(store, Idea, idea).plan) == ("ready", "so")
    run = Run.insert(store, project_id=1, idea_id=idea, number=1, base_id=1, harness="command", actor="daemon")
    assert (get(store, Run, run).state, get(store, Run, run).counts) == ("queued", True)
    assert find(store, Run, "WHERE idea_id = ? AND number = 2", idea) is None


def test_a_row_stands_for_each_of_these(store: Store) -> None:
    assert get(store, Project, 1).state == "active"
    assert get(store, Agent, 1).state == "starting"
    assert get(store, Candidate, 1).origin == "baseline"


def test_what_a_word_is_compared_with_is_a_word() -> None:
    """mypy compares with one word, `state == "queued"`; of `state in ("queued", …)` it takes any text for one."""
    vocabularies = (*vars(words).values(), *vars(harness).values(), *vars(linked).values())
    known = {word for one in vocabularies if get_origin(one) is Literal for word in get_args(one)}
    columns_of_words = {
        column
        for of in map(get_type_hints, WRITTEN)
        for column in of
        if column != "table" and literal_words(of[column]) is not None
    }
    asked = {
        (text.value, path.name)
        for path in Path(herdr.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn)
        if isinstance(node.left, ast.Attribute) and node.left.attr in columns_of_words
        for text in ast.walk(node.comparators[0])
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    }
    assert {word for word, _ in asked} >= {"queued", "running", "parked"}
    assert [one for one in asked if one[0] not in known] == []
