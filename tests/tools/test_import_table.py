"""The table of docs/architecture.md is the rule of who may import whom."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import grimp  # noqa: E402

from tools.import_table import Row, compare, imports_of, part_of, read_table, upward  # noqa: E402

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


@pytest.fixture(scope="module")
def real() -> tuple[list[Row], dict[tuple[str, str], str]]:
    packages = (
        "herdr_aider",
        "herdr_briefs",
        "herdr_claude",
        "herdr_codex",
        "herdr_command",
        "herdr_polyresearch",
    )
    rows = read_table((ROOT / "docs/architecture.md").read_text())
    return rows, imports_of(grimp.build_graph("herdr", *packages, cache_dir=None))


def test_any_import_that_the_page_does_not_name_is_a_mistake(
    real: tuple[list[Row], dict[tuple[str, str], str]],
) -> None:
    rows, imports = real
    assert compare(rows, imports) == []
    for row in rows:
        for other in rows:
            if other is row or other.parts[0] in row.imports:
                continue
            planted = {(f"{row.parts[0]}.planted", other.parts[0]): ""}
            assert any(f"{row.parts[0]} may not import {other.parts[0]}" in one for one in compare(rows, planted))
