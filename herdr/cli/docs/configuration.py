"""Renders docs/configuration.md: every key of `piloop.toml`, from the structs that read it."""

from __future__ import annotations

import ast
import functools
import inspect
import json
import textwrap
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
from msgspec import inspect as shapes

from herdr.config import checks
from herdr.config.later import LATER_KEYS
from herdr.config.shape import BOUNDS, plain
from herdr.config.structs import Config
from herdr.contract.harness import Cause

INTRODUCTION = """\
# piloop.toml

This page is made from `herdr/config/structs.py`: `make docs` writes it.

A key without a default has to be given. "–" as a default: it is as if the key were not there, and its meaning
says what that comes to. `herdr doctor` names every mistake of a file, and the keys that have no effect in this
version. Where a cause is asked for it is one of CAUSES.
"""

#: What a check of `herdr.config.checks` makes of a type.
CHECKED = {
    checks.project_name: "name",
    checks.metric_name: "name without spaces and `=`",
    checks.socket_name: "name of a socket",
    checks.variable: "name of an environment variable",
    checks.variables: "table: name of an environment variable = text",
    checks.relative_path: "path in the repo",
    checks.pattern: "gitignore pattern",
    checks.regex: "regular expression",
    checks.composer: "regular expression with a group",
    checks.received: "regular expression with `{text}`",
    checks.argv: "command: list of words",
    checks.headless_argv: "command: list of words",
}


def render() -> str:
    """The whole page."""
    sections = [INTRODUCTION.replace("CAUSES", ", ".join(f"`{cause}`" for cause in get_args(Cause)))]
    for title, path, struct in tables(shapes.type_info(Config), "", ""):
        sections.append(f"## {title}\n\n{_about(struct.cls)}\n\n{_table(struct, path)}\n")
    return "\n".join(sections)


def tables(kind: shapes.Type, title: str, path: str) -> Iterator[tuple[str, str, shapes.StructType]]:
    """Every table of the file that has keys of its own, as heading, path and struct.

    Args:
        kind: a type; what lies inside it is walked.
        title: how TOML writes its table, without the brackets.
        path: its path as `LATER_KEYS` writes it.
    """
    kind = plain(kind)
    if isinstance(kind, shapes.UnionType):
        for option in kind.types:
            yield from tables(option, title, path)
    elif isinstance(kind, shapes.VarTupleType):
        yield from tables(kind.item_type, f"[{title}]", f"{path}[]")
    elif isinstance(kind, shapes.DictType):
        yield from tables(kind.value_type, f"{title}.<name>", f"{path}.<name>")
    elif isinstance(kind, shapes.StructType):
        if not all(isinstance(plain(field.type), shapes.StructType) for field in kind.fields):
            yield f"`[{title}]`" if title else "Top level", path, kind
        for field in kind.fields:
            inner = f"{title}.{field.encode_name}".lstrip(".")
            yield from tables(field.type, inner, f"{path}.{field.encode_name}".lstrip("."))


def _table(struct: shapes.StructType, path: str) -> str:
    lines = ["| key | type | default | unit | meaning |", "|---|---|---|---|---|"]
    for field in struct.fields:
        meaning = meanings(struct.cls)[field.name]
        later = LATER_KEYS.get(f"{path}.{field.encode_name}".lstrip("."))
        if later and "No effect yet" not in meaning:
            meaning += f" *No effect yet:* {later}."
        cells = [f"`{field.encode_name}`", type_of(field.type), _default(field), unit_of(field.type), meaning]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


@functools.cache
def meanings(struct: type) -> dict[str, str]:
    """What the docstrings below a struct's fields say, by field; its bases' where it says nothing itself."""
    found: dict[str, str] = {}
    for cls in reversed(struct.__mro__):
        if not issubclass(cls, msgspec.Struct) or cls is msgspec.Struct:
            continue
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
        assert isinstance(tree, ast.ClassDef)
        for statement, below in zip(tree.body, tree.body[1:], strict=False):
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            if (
                isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                found[statement.target.id] = " ".join(below.value.value.split())
    return found


def type_of(kind: shapes.Type) -> str:
    """A type in words, with its range."""
    extra: dict[str, Any] = {}
    if isinstance(kind, shapes.Metadata):
        extra, kind = kind.extra or {}, kind.type
    if extra.get("check") in CHECKED:
        return CHECKED[extra["check"]]
    if isinstance(kind, shapes.UnionType):
        return " or ".join(type_of(option) for option in kind.types if not isinstance(option, shapes.NoneType))
    if isinstance(kind, shapes.LiteralType) and set(kind.values) == set(get_args(Cause)):
        return "cause"
    if isinstance(kind, shapes.LiteralType):
        return " or ".join(f'`"{word}"`' for word in extra.get("words", kind.values))
    if isinstance(kind, (shapes.IntType, shapes.FloatType)):
        bounds = [
            f"{BOUNDS[name][0]} {getattr(kind, name):,}" for name in BOUNDS if getattr(kind, name) is not None
        ]
        whole = "whole number" if isinstance(kind, shapes.IntType) else "number"
        return f"{whole} {' and '.join(bounds)}".strip()
    if isinstance(kind, shapes.VarTupleType):
        return f"list: {_inner(kind.item_type)}"
    if isinstance(kind, shapes.TupleType):
        return f"[{', '.join(type_of(item) for item in kind.item_types)}]"
    if isinstance(kind, shapes.DictType):
        return f"table: name = {_inner(kind.value_type)}"
    return SIMPLE[type(kind)]


SIMPLE: dict[type[shapes.Type], str] = {
    shapes.StrType: "text",
    shapes.BoolType: "true or false",
    shapes.StructType: "table",
    shapes.AnyType: "anything",
}


def _inner(kind: shapes.Type) -> str:
    several = isinstance(plain(kind), (shapes.UnionType, shapes.LiteralType))
    return f"({type_of(kind)})" if several else type_of(kind)


def unit_of(kind: shapes.Type) -> str:
    """What a number counts, or the numbers inside; "" for what is no number."""
    if isinstance(kind, shapes.Metadata):
        return (kind.extra or {}).get("unit") or unit_of(kind.type)
    if isinstance(kind, shapes.UnionType):
        return next(filter(None, map(unit_of, kind.types)), "")
    if isinstance(kind, shapes.VarTupleType):
        return unit_of(kind.item_type)
    return unit_of(kind.value_type) if isinstance(kind, shapes.DictType) else ""


def _default(field: shapes.Field) -> str:
    if field.required:
        return ""
    value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    if value is None or isinstance(value, msgspec.Struct) or value == {}:
        return "–"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"`{json.dumps(value)}`"


def _about(struct: type) -> str:
    """The docstring of a struct, without the paragraphs for those who use it in Python."""
    paragraphs = inspect.cleandoc(struct.__doc__ or "").split("\n\n")
    return " ".join(" ".join(paragraphs[:1] if struct is Config else paragraphs).split())
