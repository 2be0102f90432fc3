"""A built-in plugin stands where a third party's does: it imports `herdr.api`, and herdr imports none of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT_IN = sorted(p for folder in ("harnesses", "briefs", "plugins") for p in ROOT.glob(f"{folder}/herdr_*"))


def imported(folder: Path) -> Iterator[tuple[str, str]]:
    for file in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                yield from ((file.name, name.name) for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module == "herdr":
                yield from ((file.name, f"herdr.{name.name}") for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                yield file.name, node.module or ""


@pytest.mark.parametrize("plugin", BUILT_IN, ids=lambda path: path.name)
def test_a_built_in_plugin_imports_only_the_api(plugin: Path) -> None:
    inside = {name for name in imported(plugin) if name[1].split(".")[0] == "herdr"}
    assert {name for name in inside if name[1] != "herdr.api"} == set()
    assert inside


def test_herdr_imports_no_built_in_plugin() -> None:
    names = {path.name for path in BUILT_IN}
    assert names
    assert {found for found in imported(ROOT / "herdr") if found[1].split(".")[0] in names} == set()
