"""Whether what a plugin registers is a harness: all that is missing or wrong, before an agent depends on it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from herdr.config import HarnessKeys, checks
from herdr.config.shape import Shape
from herdr.config.structs import CausedRegex, Name, Seconds
from herdr.contract.harness import Harness, HarnessBase, ScreenRules, SendRules
from herdr.errors import describe

MEMBERS = tuple(name for name in vars(Harness) if not name.startswith("_"))
#: The members that are rules; each of their fields is held against the type of its key in piloop.toml.
RULES: Mapping[str, type[ScreenRules | SendRules]] = {"screen": ScreenRules, "send": SendRules}
#: The members that are plain values.
VALUES: Mapping[str, Any] = {
    "name": Annotated[str, Meta(extra={"check": checks.harness_name})],
    "ready_timeout": Seconds,
    "needs_model": bool,
    "ends_when_idle": bool,
}


def faults(harness: object) -> list[str]:
    """Everything that keeps herdr from using this as a harness, each in a few words.

    Each member is read, so that a screen which a plugin computes at the first use is looked at too.
    """
    if isinstance(harness, type):
        return [f"it is a class, and register({harness.__name__}()) takes one of its objects"]
    missing, wrong = [], []
    for name in MEMBERS:
        try:
            value = getattr(harness, name)
        except Exception as error:
            if isinstance(error, AttributeError) and not hasattr(type(harness), name):
                missing.append(name)
            # A default of ours fails only for the fault of what it is computed from.
            elif getattr(type(harness), name, None) is not getattr(HarnessBase, name, None):
                wrong.append(f"{name} cannot be read: {describe(error)}")
            continue
        if getattr(value, "__func__", None) is HarnessBase.launch:
            missing.append(name)
        else:
            wrong += _wrong(name, value)
    return [f"it has no {', '.join(missing)}", *wrong] if missing else wrong


def label(harness: object) -> str:
    """What a person can know a harness by, whatever is wrong with it: its name, or else its class."""
    try:
        name = getattr(harness, "name", None)
    except Exception:
        name = None
    if isinstance(name, str) and name.isprintable() and name:
        return name
    return harness.__name__ if isinstance(harness, type) else type(harness).__name__


def _wrong(name: str, value: object) -> Iterator[str]:
    if name in RULES:
        yield from _rules(name, value)
    elif name in VALUES:
        yield from _shaped(msgspec.inspect.type_info(VALUES[name]), value, name)
    else:
        yield from _method(name, value)


def _rules(name: str, rules: object) -> Iterator[str]:
    kind = RULES[name]
    if not isinstance(rules, kind):
        yield f"{name} is of the type {type(rules).__name__}, not {kind.__name__}"
        return
    usual, keys = kind(), msgspec.inspect.type_info(HarnessKeys)
    assert isinstance(keys, msgspec.inspect.StructType)
    types = {field.name: field.type for field in keys.fields}
    for field in kind.__struct_fields__:
        value, default = getattr(rules, field), getattr(usual, field)
        # A person may leave a cause out.
        table = isinstance(default, Mapping)
        expected = msgspec.inspect.type_info(dict[Name, CausedRegex]) if table else types[field]
        if value != default:
            yield from _shaped(expected, value, f"{name}.{field}")


def _shaped(expected: msgspec.inspect.Type, value: object, path: str) -> Iterator[str]:
    shape = Shape()
    shape.check(expected, _as_read(value), path)
    yield from (mistake.without_fix for mistake in shape.mistakes)


def _as_read(value: object) -> Any:
    """A value with lists and tables as a TOML file has them."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else repr(key): _as_read(item) for key, item in value.items()}
    return [_as_read(item) for item in value] if isinstance(value, (list, tuple)) else value


def _method(name: str, method: object) -> Iterator[str]:
    if not callable(method):
        yield f"{name} is of the type {type(method).__name__}, not a method"
        return
    if inspect.iscoroutinefunction(method):
        yield f"{name} is async, and is called in a thread"
    wanted = list(inspect.signature(getattr(Harness, name)).parameters)[1:]
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return  # written in C, or by somebody who hides it
    try:
        signature.bind(*wanted)
    except TypeError:
        taken = (str(each.replace(annotation=each.empty)) for each in signature.parameters.values())
        yield f"{name} takes ({', '.join(taken)}), not ({', '.join(wanted)})"
