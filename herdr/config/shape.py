"""Holds data against the types of the structs, and finds every mistake instead of only the first."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Iterable
from typing import Any

from msgspec import inspect

from herdr.config.mistakes import Mistake, at_key, show

#: Stands in checked data for a value that has a mistake, so that rules can tell it from a missing one.
BAD: Any = type("Bad", (), {"__repr__": lambda _: "BAD"})()

Text, Number, Switch, List, Table = "a string", "a number", "true or false", "a list", "a table"
KINDS: dict[type, str] = {
    inspect.StrType: Text,
    inspect.IntType: "a whole number",
    inspect.FloatType: Number,
    inspect.BoolType: Switch,
    inspect.VarTupleType: List,
    inspect.TupleType: List,
    inspect.DictType: Table,
    inspect.StructType: Table,
}
HOW = {
    Text: "put it in quotes",
    "a whole number": "write a whole number, without quotes",
    Number: "write a number, without quotes",
    Switch: "write true or false, without quotes",
    List: 'put the values in brackets, as in ["a", "b"]',
    Table: "write it as a table, as in { key = value }",
}
BOUNDS = {
    "gt": ("above", operator.gt),
    "ge": ("at least", operator.ge),
    "lt": ("below", operator.lt),
    "le": ("at most", operator.le),
}


#: Words that a fix names of a longer list.
NAMED = 3
#: Levels of a plugin's own data; JSON's reader and writer have limits too.
DEEPEST = 30


class Shape:
    """One pass over the data of one file; `mistakes` fills up on the way."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []

    def check(self, expected: inspect.Type, value: Any, path: str) -> Any:
        """The value as it was, with `BAD` in place of every part that has a mistake.

        Args:
            expected: the type, from `msgspec.inspect`.
            value: TOML data.
            path: where it stands, for the mistakes.
        """
        extra: dict[str, Any] = {}
        if isinstance(expected, inspect.Metadata):
            extra, expected = expected.extra or {}, expected.type
        if isinstance(expected, inspect.UnionType):
            options = [option for option in expected.types if not isinstance(option, inspect.NoneType)]
            fitting = (option for option in options if fits(plain(option), value))
            return self.check(next(fitting, options[0]), value, path)
        if isinstance(expected, inspect.LiteralType):
            return self._choice(extra.get("words", expected.values), value, path)
        if not fits(expected, value):
            kind = KINDS[type(expected)]
            return self._bad(path, value, f"not {kind}", HOW[kind])
        checked = self._inside(expected, value, path)
        fault = extra["check"](checked) if "check" in extra and not has_bad(checked) else None
        return self._bad(path, value, *fault) if fault else checked

    def _inside(self, expected: inspect.Type, value: Any, path: str) -> Any:
        """As `check`, for a value that is of the right kind."""
        if isinstance(expected, inspect.StructType):
            return self._struct(expected, value, path)
        if isinstance(expected, inspect.DictType):
            return {key: self._entry(expected, key, item, path) for key, item in value.items()}
        if isinstance(expected, inspect.VarTupleType):
            if len(value) < (expected.min_length or 0):
                return self._bad(path, value, "empty", "name at least one, or leave the key out")
            return [self.check(expected.item_type, item, f"{path}[{i}]") for i, item in enumerate(value)]
        if isinstance(expected, inspect.TupleType):
            return self._pair(expected, value, path)
        if isinstance(expected, (inspect.IntType, inspect.FloatType)):
            return self._number(expected, value, path)
        if isinstance(expected, inspect.StrType):
            short = len(value) < (expected.min_length or 0)
            return self._bad(path, value, "empty", "write something, or leave it out") if short else value
        return self._anything(value, path)

    def _struct(self, expected: inspect.StructType, value: dict[str, Any], path: str) -> dict[str, Any]:
        fields = {field.encode_name: field for field in expected.fields}
        checked = {}
        for key, item in value.items():
            if key in fields:
                checked[key] = self.check(fields[key].type, item, at_key(path, key))
            else:
                self._bad(at_key(path, key), item, "unknown key", did_you_mean(key, fields))
        for key, field in fields.items():
            if field.required and key not in value:
                self.mistakes.append(Mistake(at_key(path, key), "missing", f"add it: {described(field.type)}"))
                checked[key] = BAD
        return checked

    def _entry(self, expected: inspect.DictType, key: str, item: Any, path: str) -> Any:
        if not key:
            return self._bad(at_key(path, key), item, "the name is empty", "give it a name")
        return self.check(expected.value_type, item, at_key(path, key))

    def _pair(self, expected: inspect.TupleType, value: list[Any], path: str) -> Any:
        wanted = expected.item_types
        if len(value) != len(wanted):
            kinds = ", ".join(described(item) for item in wanted)
            return self._bad(path, value, f"has {len(value)} parts, not {len(wanted)}", f"give [{kinds}]")
        return [
            self.check(kind, item, f"{path}[{i}]")
            for i, (kind, item) in enumerate(zip(wanted, value, strict=True))
        ]

    def _choice(self, words: Iterable[Any], value: Any, path: str) -> Any:
        if isinstance(value, str) and value in words:
            return value
        fix = did_you_mean(value, words) if isinstance(value, str) else "use one of these, in quotes"
        return self._bad(path, value, f"not one of {', '.join(words)}", fix)

    def _number(self, expected: inspect.IntType | inspect.FloatType, value: float, path: str) -> Any:
        limits = [(*BOUNDS[name], getattr(expected, name)) for name in BOUNDS]
        limits = [limit for limit in limits if limit[2] is not None]
        wanted = " and ".join(f"{word} {bound:g}" for word, _, bound in limits)
        if not is_sane(value):
            return self._bad(
                path, value, "not a finite number of at most 64 bits", f"use a number {wanted}".strip()
            )
        if not all(holds(value, bound) for _, holds, bound in limits):
            return self._bad(path, value, "out of range", f"use a number {wanted}")
        return value

    def _anything(self, value: Any, path: str, depth: int = 0) -> Any:
        """A plugin's own data, as JSON can hold it: dates become strings."""
        if depth > DEEPEST:
            return self._bad(path, value, "nested too deeply", f"use at most {DEEPEST} levels")
        if isinstance(value, dict):
            return {key: self._anything(item, at_key(path, key), depth + 1) for key, item in value.items()}
        if isinstance(value, list):
            return [self._anything(item, f"{path}[{i}]", depth + 1) for i, item in enumerate(value)]
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        if isinstance(value, (int, float)) and not is_sane(value):
            return self._bad(
                path, value, "not a finite number of at most 64 bits", "use another number, or a string"
            )
        return value

    def _bad(self, path: str, value: Any, problem: str, fix: str) -> Any:
        self.mistakes.append(Mistake(path, problem, fix, show(value)))
        return BAD


def plain(expected: inspect.Type) -> inspect.Type:
    """A type without its metadata."""
    return expected.type if isinstance(expected, inspect.Metadata) else expected


def fits(expected: inspect.Type, value: Any) -> bool:
    """Whether a value is of the right kind, whatever it holds; a bool is no number.

    Args:
        expected: the type, from `msgspec.inspect`, without metadata.
        value: TOML data.
    """
    if isinstance(expected, (inspect.StrType, inspect.LiteralType)):
        return isinstance(value, str)
    if isinstance(expected, inspect.IntType):
        return isinstance(value, int) and not isinstance(value, bool)
    if isinstance(expected, inspect.FloatType):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(expected, inspect.BoolType):
        return isinstance(value, bool)
    if isinstance(expected, (inspect.VarTupleType, inspect.TupleType)):
        return isinstance(value, list)
    if isinstance(expected, (inspect.DictType, inspect.StructType)):
        return isinstance(value, dict)
    return True


def is_sane(value: float) -> bool:
    """Whether JSON and SQLite can hold this number."""
    return -(2**63) <= value < 2**63 if isinstance(value, int) else math.isfinite(value)


def has_bad(checked: Any) -> bool:
    """Whether a mistake was found directly in this value; a check on the whole could only repeat it."""
    parts = checked.values() if isinstance(checked, dict) else checked if isinstance(checked, list) else [checked]
    return any(part is BAD for part in parts)


def described(expected: inspect.Type) -> str:
    """A type in words, for a fix."""
    kind = plain(expected)
    if isinstance(kind, inspect.LiteralType):
        words = [f'"{word}"' for word in kind.values]
        return " or ".join(words if len(words) <= NAMED else [*words[:NAMED], "another"])
    return KINDS[type(kind)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The fix for a word that is not known.

    Args:
        word: what was written.
        known: what could stand there.
    """
    import difflib  # only a file with a mistake pays for it

    known = [at_key("", each) for each in known]
    close = difflib.get_close_matches(word[:100], known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"use one of {', '.join(known)}"
