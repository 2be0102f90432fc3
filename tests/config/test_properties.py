"""Whatever a file holds, reading it gives a config or mistakes of one line each, and nothing else."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import inspect

from herdr.config import Config, ConfigError, read_config
from herdr.config.shape import plain

QUICK = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
REQUIRED = 'name = "p"\nevaluate = ["x"]\nmetrics = [{ name = "s", direction = "lower", role = "primary" }]\n'


def known_words(kind: inspect.Type) -> Iterator[str]:
    """Every key and every choice of the file, so that random data often hits one."""
    kind = plain(kind)
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield field.encode_name
            yield from known_words(field.type)
    elif isinstance(kind, inspect.UnionType):
        for item in kind.types:
            yield from known_words(item)
    elif isinstance(kind, inspect.DictType):
        yield from known_words(kind.value_type)
    elif isinstance(kind, inspect.VarTupleType):
        yield from known_words(kind.item_type)
    elif isinstance(kind, inspect.LiteralType):
        yield from (word for word in kind.values if isinstance(word, str))


#: Lone surrogates are no text.
NO_SURROGATES: tuple[Literal["Cs"], ...] = ("Cs",)
WORDS = st.sampled_from(sorted({*known_words(inspect.type_info(Config)), "a", "{prompt}", "([", "../x"}))
TEXTS = WORDS | st.text(st.characters(exclude_categories=NO_SURROGATES), max_size=8)
SCALARS = (
    TEXTS
    | st.booleans()
    | st.integers()
    | st.integers(0, 3)
    | st.floats()
    | st.dates()
    | st.datetimes()
    | st.times()
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=8
)


def as_toml(value: Any) -> str:
    """A value as TOML, on one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(character):08x}" for character in value) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_toml(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(as_toml(item) for item in value) + "]"
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


def shaped(kind: inspect.Type) -> st.SearchStrategy[Any]:
    """Data that mostly has the right shape, so that the rules and the conversion are reached."""
    kind = plain(kind)
    if isinstance(kind, inspect.StructType):
        fields = {field.encode_name: shaped(field.type) for field in kind.fields}
        right: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional=fields)
    elif isinstance(kind, inspect.UnionType):
        right = st.one_of([shaped(item) for item in kind.types if not isinstance(item, inspect.NoneType)])
    elif isinstance(kind, inspect.DictType):
        right = st.dictionaries(WORDS, shaped(kind.value_type), max_size=3)
    elif isinstance(kind, inspect.VarTupleType):
        right = st.lists(shaped(kind.item_type), min_size=kind.min_length or 0, max_size=3)
    elif isinstance(kind, inspect.TupleType):
        right = st.tuples(*[shaped(item) for item in kind.item_types]).map(list)
    elif isinstance(kind, inspect.LiteralType):
        right = st.sampled_from(kind.values)
    elif isinstance(kind, inspect.StrType):
        right = st.sampled_from(["a", "b", "{prompt}"])
    elif isinstance(kind, (inspect.IntType, inspect.FloatType)):
        right = st.sampled_from([1, 2, 0.75])
    else:
        return SCALARS
    return st.integers(0, 30).flatmap(lambda n: right if n else SCALARS)


def outcome(text: str, environ: Mapping[str, str]) -> None:
    """A config that survives being stored, or mistakes that can be printed on one line each."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "piloop.toml").write_text(text, encoding="utf-8", newline="")
        try:
            config = read_config(Path(folder), environ)
        except ConfigError as error:
            mistakes, message = error.mistakes, str(error)
        else:
            assert Config.from_json(config.to_json()) == config
            return
    assert message.split("\n") == [str(mistake) for mistake in mistakes]
    assert mistakes
    assert all(str(mistake).isprintable() for mistake in mistakes)


@QUICK
@given(st.dictionaries(TEXTS, VALUES, max_size=8))
def test_any_data(data: dict[str, Any]) -> None:
    outcome("\n".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in data.items()), {})


@QUICK
@given(shaped(inspect.type_info(Config)))
def test_data_of_nearly_the_right_shape(data: Any) -> None:
    if isinstance(data, dict):
        outcome("\n".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in data.items()), {})


@QUICK
@given(st.text(st.characters(exclude_categories=NO_SURROGATES)))
def test_any_text(text: str) -> None:
    outcome(text, {})


@QUICK
@given(
    st.lists(
        st.tuples(st.lists(TEXTS, min_size=1, max_size=3), VALUES.map(as_toml) | st.text(max_size=8)), max_size=3
    )
)
def test_any_variables(variables: list[tuple[list[str], str]]) -> None:
    outcome(REQUIRED, {f"PILOOP_PROJECT_{'__'.join(keys).upper()}": value for keys, value in variables})
