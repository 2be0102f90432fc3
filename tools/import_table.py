"""Holds the table "may import" of docs/architecture.md against what is imported, both ways.

A contract of import-linter, so that what people read is the rule itself. An import that the table does not
name breaks it, and so does a name in the table that nobody imports any more. A row may name only rows above it,
so there is no circle.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

#: Opens the table; the rows follow until the first line that is none.
HEAD = "| part | one idea | may import |"


class Row(NamedTuple):
    """A row of the table: whose modules it is about, by the start of their names, and whose these may import."""

    parts: tuple[str, ...]
    imports: tuple[str, ...]


class ImportTable(Contract):
    """Compares a table of a page with the graph of imports.

    Attributes:
        page: the file, from the root of the repo.
    """

    type_name = "import_table"
    page = fields.StringField()

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002
        """Compare; the mistakes are for `render_broken_contract`."""
        rows = read_table(Path(str(self.page)).read_text())
        mistakes = [*upward(rows), *compare(rows, imports_of(graph))]
        return ContractCheck(kept=not mistakes, metadata={"mistakes": mistakes})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print a line for each mistake."""
        for mistake in check.metadata["mistakes"]:
            output.print_error(mistake)


def read_table(text: str) -> list[Row]:
    """The rows of the table in a page; names stand between backquotes, without `herdr.` before those of herdr.

    Raises:
        ValueError: the document has no such table.
    """
    lines = text.splitlines()
    if HEAD not in lines:
        raise ValueError(f"there is no table {HEAD!r}")
    rows = []
    for line in lines[lines.index(HEAD) + 2 :]:
        if not line.startswith("|"):
            break
        part, _, imports = (cell.strip() for cell in line.strip("|").split("|"))
        rows.append(Row(_names(part), _names(imports)))
    return rows


def _names(cell: str) -> tuple[str, ...]:
    found = re.findall(r"`([\w.]+)`", cell)
    return tuple(name if name.startswith("herdr") else f"herdr.{name}" for name in found)


def upward(rows: Sequence[Row]) -> list[str]:
    """The rows that name one which does not stand above them."""
    above: set[str] = set()
    mistakes = []
    for row in rows:
        mistakes += [
            f"{row.parts[0]} may not import {name}: it is no row above"
            for name in row.imports
            if name not in above
        ]
        above |= set(row.parts)
    return mistakes


def imports_of(graph: ImportGraph) -> dict[tuple[str, str], str]:
    """Each import of a module by another one, and where it stands."""
    found = {}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            details: Sequence[Mapping[str, Any]] = graph.get_import_details(importer=importer, imported=imported)
            found[importer, imported] = (
                f"line {details[0]['line_number']}: {details[0]['line_contents']}" if details else ""
            )
    return found


def compare(rows: Sequence[Row], imports: Mapping[tuple[str, str], str]) -> list[str]:
    """What is imported and not in the table, what is in no row, and what is in the table and not imported."""
    row_of = {part: row for row in rows for part in row.parts}
    unused = {(row.parts[0], name) for row in rows for name in row.imports}
    mistakes = []
    for (importer, imported), where in sorted(imports.items()):
        own, other = part_of(importer, row_of), part_of(imported, row_of)
        if own is None:
            mistakes.append(f"{importer} is in no row of the table")
        elif other is not None and row_of[own] is not row_of[other]:
            unused.discard((row_of[own].parts[0], other))
            if other not in row_of[own].imports:
                mistakes.append(f"{own} may not import {other}: {importer} does, {where}")
    mistakes += [f"{own} may import {name}, and does not" for own, name in sorted(unused)]
    return list(dict.fromkeys(mistakes))


def part_of(module: str, row_of: Mapping[str, Row]) -> str | None:
    """The part that a module belongs to: the longest name of the table that its own begins with."""
    names = module.split(".")
    starts = (".".join(names[:length]) for length in range(len(names), 0, -1))
    return next((start for start in starts if start in row_of), None)
