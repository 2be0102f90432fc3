"""Keys that are accepted today and have an effect only in a later version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Path of a key (`[]`: in any item of a list, `<name>`: in any table) -> the feature that it belongs to.
LATER_KEYS: Mapping[str, str] = {
    "confidence": "judging with confidence on per-example results",
    "tracks": "several primary metrics",
    "metrics[].track": "several primary metrics",
    "roles.worker.mcp": "tool servers for agents",
    "roles.watchdog.mcp": "tool servers for agents",
    "roles.research.mcp": "tool servers for agents",
    "roles.research.scout": "research outside the repo",
    "harness.<name>.startup_dialogs": "answering dialogs at the start",
    "harness.<name>.entire_agent": "session capture",
    "harness.<name>.session_id_pattern": "session ids of headless agents",
    "harness.<name>.usage": "token counts of harnesses without Python",
    "harness.<name>.mcp": "tool servers for agents",
    "mcp": "tool servers for agents",
}


def later_keys(data: Mapping[str, Any]) -> list[str]:
    """The keys of `LATER_KEYS` that a file sets, each once, for a person to be told about.

    Args:
        data: the file's tables, as `read_data` gives them.
    """
    return [path for path in LATER_KEYS if is_set(data, path.replace("[]", ".[]").split("."))]


def is_set(data: Any, keys: list[str]) -> bool:
    """Whether the data has a value at this path.

    Args:
        data: a table, a list or a value of the file.
        keys: the path below it, where `[]` is any item of a list and `<name>` any key of a table.
    """
    if not keys:
        return True
    if keys[0] == "[]":
        return isinstance(data, list) and any(is_set(item, keys[1:]) for item in data)
    if not isinstance(data, dict):
        return False
    if keys[0] == "<name>":
        return any(is_set(item, keys[1:]) for item in data.values())
    return keys[0] in data and is_set(data[keys[0]], keys[1:])
