"""`docs/ideas-seeds-runs.md` has a row for every promised sentence, and each row names a test that exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

from herdr.cli.running import GROUPS

ROOT = Path(__file__).parent.parent
PROMISES = Path(__file__).parent / "promises" / "ideas-seeds-runs.txt"
TABLE = ROOT / "docs" / "ideas-seeds-runs.md"
HEADINGS = re.compile(r"[A-Z][A-Za-z, ]*")
SENTENCE_END = re.compile(r"(?<=[.:]) +(?=[A-Z“]|piloop )")


class Row(msgspec.Struct, frozen=True):
    """A sentence, what does what it says, and the tests that show it."""

    sentence: str
    doer: str
    tests: str


def promised_lines() -> Iterator[str]:
    """The lines of what is promised, with what was broken joined again and without marks of lists."""
    text = PROMISES.read_text().replace("\\\n", "")
    for line in text.splitlines():
        bare = re.sub(r"^(?:•|\d+\.)\s+", "", line.strip())
        if bare:
            yield re.sub(r" +", " ", bare).replace("\t", " | ")


def sentences() -> list[str]:
    found: list[str] = []
    for line in promised_lines():
        if not HEADINGS.fullmatch(line):
            found += [line] if " | " in line else SENTENCE_END.split(line)
    return found


def rows() -> list[Row]:
    found = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("| ") and not line.startswith(("| What is said |", "| ---")):
            cells = re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |"))
            assert len(cells) == 3, line
            found.append(Row(*(cell.strip().replace("\\|", "|") for cell in cells)))
    return found


def code_in(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def names_in(path: Path) -> set[str]:
    return {
        one.name
        for one in ast.walk(ast.parse(path.read_text()))
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def test_every_sentence_has_its_row_in_order() -> None:
    assert [row.sentence for row in rows()] == sentences()


def test_the_table_has_the_sections() -> None:
    headings = [line for line in promised_lines() if HEADINGS.fullmatch(line)]
    told = [line.lstrip("# ") for line in TABLE.read_text().splitlines() if line.startswith("#")]
    assert [one for one in told if one in headings] == headings


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.sentence[:40])
def test_a_row_names_what_there_is(row: Row) -> None:
    assert row.doer
    assert code_in(row.tests), "no test shows it"
    for name in code_in(row.tests):
        path, _, test = name.partition("::")
        file = ROOT / "tests" / path
        assert file.is_file(), f"{name}: no such file"
        assert test.startswith("test_"), name
        assert test in names_in(file), f"{name}: no such test"
    for name in code_in(row.doer):
        if "/" in name and name.endswith((".py", ".sql", ".md")):
            assert (ROOT / name).is_file(), f"{name}: no such file"
        elif name.split()[0] in GROUPS:
            check_command(name)


def check_command(line: str) -> None:
    """A command of this name exists, and has the options that are named."""
    program, *words = line.split()
    command: click.Command = GROUPS[program]
    while isinstance(command, click.Group):
        assert words, f"{line}: which command?"
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None, f"{line}: no such command"
        command = found
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, f"{line}: no such option"
