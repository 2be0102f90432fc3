"""Write the little TOML that a configuration needs; the standard library only reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec


def dump(table: Mapping[str, Any]) -> str:
    """A table of strings, numbers, truths, lists and tables as TOML; other values are not known here."""
    return "\n".join(_lines(table, ())) + "\n"


def _lines(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    yield from (f"{_text(key)} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict))
    for key, value in table.items():
        if isinstance(value, dict):
            yield f"[{'.'.join(_text(part) for part in (*path, key))}]"
            yield from _lines(value, (*path, key))


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_text(key)} = {_value(item)}' for key, item in value.items())}}}"
    return _text(value)


def _text(value: object) -> str:
    """JSON's strings, numbers and truths are TOML's, but for one control character."""
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
