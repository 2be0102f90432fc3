"""One definition of the kinds of events: the triggers and the calls of `emit` write what `EVENTS` says."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from herdr.contract.words import EventKind
from herdr.store.connection import Store
from herdr.store.events import EVENTS, FIELDS, EventMeaning

ROOT = Path(__file__).parents[2]
CODE = [file for folder in ("herdr", "briefs", "harnesses", "bench") for file in (ROOT / folder).rglob("*.py")]
#: The text of a trigger's new event: from its first value on.
NEW_EVENT = re.compile(r"INSERT INTO events .*?(?:VALUES \(|SELECT )(.*?)(?:;|FROM \w+ \w+ WHERE)", re.DOTALL)
#: A kind, the kind of row that it is about (None: the row says) and its fields.
Written = tuple[str, str | None, set[str]]


def split(text: str) -> list[str]:
    """The arguments of an SQL call, or the values of a row: at the commas that are in no brackets and quotes."""
    parts, depth = [""], 0
    for piece in re.findall(r"'[^']*'|.", text, re.DOTALL):
        depth += (piece == "(") - (piece == ")")
        if depth < 0:
            break
        if piece == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip() for part in parts]


def words_of(store: Store, table: str, column: str) -> list[str]:
    (sql,) = store.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
    (among,) = re.findall(rf"CHECK \({column} IN \(([^()]*)\)\)", sql)
    return re.findall(r"'(\w+)'", among)


def kinds_of(store: Store, table: str, expression: str) -> list[str]:
    """What an SQL expression such as `'run.' || NEW.state` can come to."""
    prefix, _, rest = expression.partition(" || ")
    if rest.startswith("NEW."):
        return [prefix.strip("'") + word for word in words_of(store, table, rest.removeprefix("NEW."))]
    if rest:
        return [prefix.strip("'") + end.strip("'") for end in split(rest.removeprefix("iif("))[1:]]
    if expression.startswith("iif("):
        return [kind.strip("'") for kind in split(expression.removeprefix("iif("))[1:]]
    return [expression.strip("'")]


def of_triggers(store: Store) -> Iterator[Written]:
    found = store.execute("SELECT tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name <> 'emit'")
    for table, sql in found:
        for row in NEW_EVENT.findall(sql):
            kind, _, _, target, _, payload = split(row)
            _, some, inner = payload.partition("json_object(")
            fields = {name.strip("'") for name in split(inner)[::2]} if some else set()
            about = target.strip("'") if target.startswith("'") else None
            for one in kinds_of(store, table, kind):
                yield one, about, fields


def of_calls() -> Iterator[Written]:
    """Every `emit(store, kind, actor, payload={…})`, and every `app.emit(kind, field=…)` of the daemon."""
    for file in CODE:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            given = {word.arg: word.value for word in node.keywords if word.arg}
            if isinstance(node.func, ast.Name) and node.func.id == "emit":
                kind = node.args[1]
                if isinstance(kind, ast.Name):
                    continue  # `AppContext.emit` hands on what it was given
                about, fields = about_of(given.get("target")), fields_of(given.get("payload"))
            elif isinstance(node.func, ast.Attribute) and node.func.attr == "emit":
                kind, about, fields = node.args[0], "", set(given) - {"project_id"}
            else:
                continue
            for one in (kind.body, kind.orelse) if isinstance(kind, ast.IfExp) else (kind,):
                yield ast.literal_eval(one), about, fields


def about_of(target: ast.expr | None) -> str | None:
    if target is None:
        return ""
    assert isinstance(target, ast.Tuple), ast.unparse(target)
    return str(target.elts[0].value) if isinstance(target.elts[0], ast.Constant) else None


def fields_of(payload: ast.expr | None) -> set[str]:
    assert payload is None or isinstance(payload, ast.Dict), ast.unparse(payload)
    return {ast.literal_eval(key) for key in payload.keys if key} if payload else set()


def test_triggers_and_calls_write_the_kinds_and_fields_that_are_defined(store: Store) -> None:
    written: dict[str, set[str]] = defaultdict(set)
    known: dict[str, EventMeaning] = dict(EVENTS.items())
    for kind, about, fields in (*of_triggers(store), *of_calls()):
        written[kind] |= fields
        assert about is None or about == known[kind].target, kind
    assert {kind: set(event.payload) for kind, event in EVENTS.items()} == dict(written)


def test_every_kind_is_a_word_and_every_field_has_a_meaning() -> None:
    assert set(EVENTS) == set(get_args(EventKind))
    assert {field for event in EVENTS.values() for field in event.payload} == set(FIELDS)


def test_sql_texts_ask_for_kinds_that_exist() -> None:
    asked = {
        kind for file in CODE for kind in re.findall(r"\bkind (?:=|<>) '(\w+\.\w+)'", file.read_text("utf-8"))
    }
    assert len(asked) > 3
    assert asked <= set(EVENTS)
