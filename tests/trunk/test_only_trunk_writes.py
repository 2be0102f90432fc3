"""Nothing outside `herdr/trunk` writes the head or a verdict: one place decides where they go."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: The columns that are the trunk's alone.
COLUMNS = {
    "Project": {"head_id"},
    "Candidate": {
        "verdict", "rule", "reason", "cause", "bar_id", "on_trunk", "judged_at", "judged_by", "judge_again",
        "held",
    },
}  # fmt: skip
TABLES = {"projects": COLUMNS["Project"], "candidates": COLUMNS["Candidate"]}
SQL = re.compile(
    r"\b(?:UPDATE(?:\s+OR\s+\w+)?|(?:INSERT|REPLACE)(?:\s+OR\s+\w+)?\s+INTO)\s+(projects|candidates)\b(.*)",
    re.IGNORECASE | re.DOTALL,
)


def writes(source: str) -> Iterator[str]:
    """Each column of the trunk that a module writes, as `line: table.column`."""
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for scope in [*functions, tree]:
        for node in ast.walk(scope):
            if isinstance(node, ast.Call):
                for kind in _written_by(node):
                    # The values are in the call, or in a dictionary that the function has made before.
                    for column in sorted(COLUMNS[kind] & _names(scope if scope is not tree else node)):
                        yield f"{node.lineno}: {kind}.{column}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for table, rest in SQL.findall(node.value):
                for column in sorted(TABLES[table.lower()] & set(re.findall(r"\w+", _set_part(rest)))):
                    yield f"{node.lineno}: {table.lower()}.{column}"


def _written_by(call: ast.Call) -> set[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if not name.startswith(("insert", "update", "replace", "upsert")):
        return set()
    parts = [*call.args, *(word.value for word in call.keywords), call.func]
    names = {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
    names |= {node.attr for part in parts for node in ast.walk(part) if isinstance(node, ast.Attribute)}
    return names & set(COLUMNS)


def _names(scope: ast.AST) -> set[str]:
    """The keys of every dictionary, and the keywords of every call that writes."""
    found: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Dict):
            found |= {
                key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str)
            }
        elif isinstance(node, ast.Call) and _written_by(node):
            found |= {word.arg for word in node.keywords if word.arg is not None}
    return found


def _set_part(rest: str) -> str:
    return re.split(r"\bWHERE\b", rest, maxsplit=1, flags=re.IGNORECASE)[0]


@pytest.mark.parametrize("folder", ["herdr", "harnesses", "briefs", "plugins"])
def test_nobody_else_writes_the_head_or_a_verdict(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{one}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        if ROOT / "herdr" / "trunk" not in path.parents
        for one in writes(path.read_text())
    ]
    assert not found, "write these by herdr.trunk.moves"


def test_the_trunk_itself_is_seen_to_write_each_of_them() -> None:
    source = (ROOT / "herdr" / "trunk" / "moves.py").read_text()
    seen = {one.partition(": ")[2] for one in writes(source)}
    assert seen == {f"{kind}.{column}" for kind, columns in COLUMNS.items() for column in columns}


@pytest.mark.parametrize(
    "source",
    [
        'update(store, Project, 1, {"head_id": 2, "actor": "x"})',
        'rows.update(store, rows.Project, 1, {"head_id": 2})',
        "update(store, Project, 1, head_id=2)",
        "Project.update(store, 1, head_id=2, actor='x')",
        "rows.Candidate.update(store, 1, judge_again=True)",
        "Candidate.insert(store, verdict='keep')",
        "update(store, Candidate(id=1), verdict=None)",
        'def f():\n    values = {"cause": None}\n    update(store, Candidate, 1, {**values, "actor": "x"})',
        'def f():\n    values = {}\n    values |= {"on_trunk": 1}\n    insert(store, Candidate, values)',
        "store.execute(\"UPDATE candidates SET note = 'x', bar_id = ? WHERE id = ?\")",
        'store.execute("insert or ignore into candidates (commit_sha, verdict) values (?, ?)")',
        'store.execute(f"UPDATE projects SET head_id = {head}")',
    ],
)
def test_a_write_is_seen(source: str) -> None:
    assert list(writes(source))


@pytest.mark.parametrize(
    "source",
    [
        'update(store, Agent, 1, {"cause": "auth"})',
        "Agent.update(store, 1, cause='auth')",
        "Candidate.update(store, 1, origin='run', actor='x')",
        'update(store, Candidate, 1, {"origin": "run", "actor": "x"})',
        'get(store, Candidate, 1).verdict == "keep"',
        "store.execute(\"UPDATE candidates SET note = 'x' WHERE verdict = 'keep'\")",
        "store.execute(\"SELECT 1 FROM candidates WHERE verdict = 'keep'\")",
    ],
)
def test_what_is_no_write_is_left_alone(source: str) -> None:
    assert not list(writes(source))
