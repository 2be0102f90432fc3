"""`PILOOP_PROJECT_<KEY>`: environment variables that override keys of the file."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import tomli
from msgspec import inspect

from herdr.config.mistakes import BARE_KEY, Mistake, at_key, show
from herdr.config.shape import plain

PREFIX = "PILOOP_PROJECT_"


class Overrides:
    """Variables laid over the data of a file.

    Args:
        environ: all variables; only those that begin with the prefix count, in any case.
        root: the type of the whole file, which says where a value must stay text.

    `mistakes` lists the variables that cannot be laid over anything.
    """

    def __init__(self, environ: Mapping[str, str], root: inspect.Type) -> None:
        self.mistakes: list[Mistake] = []
        self._root = root
        self._variables = {name: environ[name] for name in sorted(environ) if name.upper().startswith(PREFIX)}
        self._names: dict[str, str] = {}

    def lay_over(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data with every override in it; the argument is not changed."""
        for name, text in self._variables.items():
            shown = name if BARE_KEY.fullmatch(name) else ascii(name)
            if has_surrogates(name + text):
                self.mistakes.append(Mistake(shown, "not UTF-8", "set it to UTF-8 text", ascii(text)[:60]))
                continue
            written = name[len(PREFIX) :].split("__")
            keys, value = keys_and_value(self._root, data, written, text)
            changed = put(data, keys, value)
            if changed is None:
                problem = f"there is no table {path_of(keys[:-1])} that it could be in"
                self.mistakes.append(Mistake(shown, problem, "set the whole value, or another key", show(text)))
                continue
            data = changed
            self._names[path_of(keys)] = shown
        return data

    def named(self, mistake: Mistake) -> Mistake:
        """The mistake, at the variable's name where its value came from one."""
        for path, name in sorted(self._names.items(), key=lambda item: -len(item[0])):
            rest = mistake.path[len(path) :]
            if mistake.path.startswith(path) and rest[:1] in ("", ".", "["):
                return Mistake(name + rest, mistake.problem, mistake.fix, mistake.value)
        return mistake


def path_of(keys: list[str]) -> str:
    """The path of nested keys."""
    return functools.reduce(at_key, keys, "")


def has_surrogates(text: str) -> bool:
    """Whether the bytes of a variable were not UTF-8."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def keys_and_value(root: inspect.Type, data: Any, written: list[str], text: str) -> tuple[list[str], Any]:
    """The keys that a variable's name means, in the case of the file or of the type, and its value.

    Args:
        root: the type of the whole file.
        data: the tables of the file, whose own spelling of a key comes before the type's.
        written: the parts of the variable's name, split at `__`, in any case.
        text: the variable's content.
    """
    kind: inspect.Type | None = root
    keys = []
    for word in written:
        fields = {field.encode_name: field.type for field in struct_of(kind)}
        present = list(data) if isinstance(data, dict) else []
        key = next((name for name in (*present, *fields) if name.lower() == word.lower()), word.lower())
        kind = fields.get(key) or values_of(kind)
        data = data.get(key) if isinstance(data, dict) else None
        keys.append(key)
    return keys, parse(text, wants_text=is_text(kind))


def put(data: dict[str, Any], keys: list[str], value: Any) -> dict[str, Any] | None:
    """A copy of the data with the value at these keys, or None where no table can be.

    Args:
        data: the tables of the file; they are not changed.
        keys: the path of the value, at least one key.
        value: what stands there afterwards.
    """
    if len(keys) == 1:
        return {**data, keys[0]: value}
    below = data.get(keys[0], {})
    changed = put(below, keys[1:], value) if isinstance(below, dict) else None
    return None if changed is None else {**data, keys[0]: changed}


def parse(text: str, *, wants_text: bool) -> Any:
    """A TOML value where it is one, else the text itself; a key that holds text needs no quotes.

    Args:
        text: the variable's content.
        wants_text: whether the key takes only a string, so that `12` stays text.
    """
    try:
        found = tomli.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    alone = list(found) == ["value"]
    return found["value"] if alone and (isinstance(found["value"], str) or not wants_text) else text


def options(kind: inspect.Type | None) -> list[inspect.Type]:
    """A type's alternatives, without metadata."""
    if kind is None:
        return []
    bare = plain(kind)
    return [plain(item) for item in bare.types] if isinstance(bare, inspect.UnionType) else [bare]


def struct_of(kind: inspect.Type | None) -> tuple[inspect.Field, ...]:
    """The fields of a type that is a struct."""
    return next((item.fields for item in options(kind) if isinstance(item, inspect.StructType)), ())


def values_of(kind: inspect.Type | None) -> inspect.Type | None:
    """The type of the values of a type that is a free table."""
    return next((item.value_type for item in options(kind) if isinstance(item, inspect.DictType)), None)


def is_text(kind: inspect.Type | None) -> bool:
    """Whether only a string can stand here."""
    kinds = [item for item in options(kind) if not isinstance(item, inspect.NoneType)]
    return bool(kinds) and all(isinstance(item, (inspect.StrType, inspect.LiteralType)) for item in kinds)
