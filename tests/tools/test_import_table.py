"""The table of docs/architecture.md is the rule of who may import whom."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.import_table import Row, compare, part_of, read_table, upward  # noqa: E402

PAGE = """
Before.

| part | one idea | may import |
|---|---|---|
| `errors` | what a person reads | – |
| `store`, `rows` | the database | `errors` |
| `daemon.runs` | runs | `store`, `errors` |
| `herdr_plugin` | a plugin | `errors` |

After, with `daemon`.
"""
ROWS = [
    Row(("herdr.errors",), ()),
    Row(("herdr.store", "herdr.rows"), ("herdr.errors",)),
    Row(("herdr.daemon.runs",), ("herdr.store", "herdr.errors")),
    Row(("herdr_plugin",), ("herdr.errors",)),
]
HONEST = {
    ("herdr.store.sql", "herdr.errors"): "",
    ("herdr.daemon.runs.loop", "herdr.store.sql"): "",
    ("herdr.daemon.runs.loop", "herdr.errors"): "",
    ("herdr.daemon.runs.loop", "herdr.daemon.runs.agents"): "",
    ("herdr.rows", "herdr.store"): "",
    ("herdr_plugin.x", "herdr.errors"): "",
}


def test_a_page_is_read() -> None:
    assert read_table(PAGE) == ROWS


def test_a_page_without_the_table_is_told() -> None:
    with pytest.raises(ValueError, match="there is no table"):
        read_table("| part | may import |")


def test_what_is_imported_as_the_table_says_is_no_mistake() -> None:
    assert compare(ROWS, HONEST) == []
    assert upward(ROWS) == []


@pytest.mark.parametrize(
    ("imports", "mistake"),
    [
        (
            {("herdr.errors", "herdr.store.sql"): "line 3: import herdr.store.sql"},
            "herdr.errors may not import herdr.store: herdr.errors does, line 3: import herdr.store.sql",
        ),
        (
            {("herdr.store", "herdr.daemon.runs"): ""},
            "herdr.store may not import herdr.daemon.runs: herdr.store does, ",
        ),
        ({("herdr_plugin", "herdr.store"): ""}, "herdr_plugin may not import herdr.store: herdr_plugin does, "),
        ({("herdr.new", "herdr.errors"): ""}, "herdr.new is in no row of the table"),
    ],
)
def test_another_import_is_a_mistake(imports: dict[tuple[str, str], str], mistake: str) -> None:
    assert compare(ROWS, HONEST | imports) == [mistake]


def test_what_nobody_imports_any_more_is_a_mistake() -> None:
    less = {key: where for key, where in HONEST.items() if key[0] != "herdr_plugin.x"}
    assert compare(ROWS, less) == ["herdr_plugin may import herdr.errors, and does not"]


def test_a_row_that_names_a_lower_one_is_a_mistake() -> None:
    assert upward([ROWS[1], ROWS[0]]) == ["herdr.store may not import herdr.errors: it is no row above"]


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("herdr.store.sql", "herdr.store"),
        ("herdr.store", "herdr.store"),
        ("herdr.storeroom", None),
        ("herdr.daemon.runs.a.b", "herdr.daemon.runs"),
        ("herdr.daemon.main", None),
    ],
)
def test_a_module_belongs_to_the_longest_name(module: str, part: str | None) -> None:
    assert part_of(module, {one: row for row in ROWS for one in row.parts}) == part
