"""docs/polyresearch.md is true: no cell is empty, and every test and rule it names is there."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path

import herdr_polyresearch.protocol
import pytest
from herdr_polyresearch.protocol import findings
from herdr_polyresearch.protocol.decide import MESSAGES
from herdr_polyresearch.protocol.explain import explain
from herdr_polyresearch.protocol.findings import Fault

HERE = Path(__file__).parent.parent
PAGE = (HERE.parent.parent / "docs" / "polyresearch.md").read_text()
ROWS = [line for line in PAGE.splitlines() if line.startswith("|") and not set(line) <= set("|- ")]
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))
MODULES = {path.stem for path in Path(herdr_polyresearch.protocol.__file__).parent.glob("*.py")}
RULES = sorted({rule for rule in re.findall(r"`(\w+)\.([A-Za-z_]\w*)[`.]", PAGE) if rule[0] in MODULES})


@pytest.mark.parametrize("row", ROWS)
def test_no_cell_is_empty(row: str) -> None:
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert all(cells) or cells == ["Case", "", "Why"], row


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_every_named_test_is_there(path: str, name: str) -> None:
    assert re.search(rf"^ *(async )?def {name}\(", (HERE / path).read_text(), re.MULTILINE)


def test_the_page_names_many_tests() -> None:
    assert len(NAMED) > 60
    assert len(RULES) > 40


def test_every_row_of_the_protocol_names_a_test() -> None:
    part = PAGE[PAGE.index("## What the protocol says") : PAGE.index("### The quirks")]
    rows = [
        line
        for line in part.splitlines()
        if line in ROWS and not line.startswith(("| The protocol", "| The existing tool |"))
    ]
    assert [row for row in rows if "::test_" not in row] == []


@pytest.mark.parametrize(("module", "attribute"), RULES)
def test_every_named_rule_is_there(module: str, attribute: str) -> None:
    assert hasattr(importlib.import_module(f"herdr_polyresearch.protocol.{module}"), attribute)


def test_every_refusal_is_listed() -> None:
    listed = PAGE[PAGE.index("A `decide` that is refused") :]
    assert set(re.findall("`([a-z_]+)`", listed)) - {"decide"} == set(MESSAGES)


def test_the_example_can_be_explained() -> None:
    example = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert example
    result = explain(json.dumps(json.loads(example[1]))).as_json()
    assert result["phase"] == "approved"


def test_each_fault_has_a_sentence_of_its_own() -> None:
    said = [fault.message for fault in vars(findings).values() if isinstance(fault, Fault)]
    assert len(said) == len(set(said)) > 30
