"""A public function with more than one parameter says what each of them is."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("herdr", "harnesses", "briefs", "plugins")

#: The demo's project is somebody's program that agents work on, and no part of herdr.
LEFT_OUT = ("herdr/demo/project/",)

#: What a function works with rather than on: each means the same wherever it is a parameter, as its type says.
SURROUNDINGS = frozenset({"app", "conn", "fleet", "store"})

#: Functions whose parameters are said elsewhere: the options of a command by their help, the arguments of a hook
#: by its specification; and every operation takes a context and its request.
DECORATORS = re.compile(r"\bclick\.|\.(command|group|argument|option)\(|hookimpl|hookspec|^operation\(|overload")

Function = ast.FunctionDef | ast.AsyncFunctionDef
Classes = dict[str, ast.ClassDef]


def parameters(function: Function) -> list[str]:
    """The names of what a function makes use of, without the surroundings."""
    given = function.args
    every = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
    names = [one.arg for one in every if one is not None and not one.arg.startswith("_")]
    return [name for name in names if name not in {"self", "cls", *SURROUNDINGS}]


def named(text: str) -> set[str]:
    """The words that a docstring has in backticks."""
    return set(re.findall(r"`(\w+)`", text))


def unsaid(function: Function, owners: Iterable[ast.ClassDef] = ()) -> list[str]:
    """The parameters of a public function that neither its docstring nor that of its class lists or names."""
    names = parameters(function)
    if len(names) < 2 or any(DECORATORS.search(ast.unparse(each)) for each in function.decorator_list):
        return []
    text = ast.get_docstring(function) or ""
    said = named(text) | set(re.findall(r"^    \**(\w+):", text.partition("\nArgs:\n")[2], re.MULTILINE))
    said.update(*(named(ast.get_docstring(owner) or "") for owner in owners))
    return [name for name in names if name not in said]


class Module:
    """One file: its public functions, and the methods of its public classes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = ast.parse(path.read_text())
        self.classes = {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    def unsaid(self, known: Classes) -> Iterator[str]:
        """What is not said in this file: the function and the parameters."""
        for node in self.tree.body:
            if isinstance(node, Function) and not node.name.startswith("_") and unsaid(node):
                yield f"{node.name}: {', '.join(unsaid(node))}"
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners = [node, *bases(node, {**known, **self.classes})]
                for method in node.body:
                    if not isinstance(method, Function) or method.name.startswith("_"):
                        continue
                    if unsaid(method, owners) and not self.is_inherited(method.name, owners):
                        yield f"{node.name}.{method.name}: {', '.join(unsaid(method, owners))}"

    def is_inherited(self, method: str, owners: Sequence[ast.ClassDef]) -> bool:
        """Whether a base has this method too, so that the base's docstring says what the parameters are."""
        ours = any(
            isinstance(node, Function) and node.name == method for base in owners[1:] for node in base.body
        )
        return ours or any(hasattr(self.imported(ast.unparse(base)), method) for base in owners[0].bases)

    def imported(self, name: str) -> object:
        """A class of a library, as this module knows it."""
        first, _, rest = name.partition("[")[0].partition(".")
        for node in ast.walk(self.tree):
            for each in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                if (each.asname or each.name) == first:
                    if isinstance(node, ast.ImportFrom):
                        return getattr(importlib.import_module(node.module or ""), each.name, None)
                    return getattr(importlib.import_module(first), rest, None)
        return None


def bases(node: ast.ClassDef, known: Classes) -> Iterator[ast.ClassDef]:
    """The classes that a class inherits from, and one that its docstring says to look at."""
    told = re.findall(r"explained at `(\w+)`", ast.get_docstring(node) or "")
    for name in [*(ast.unparse(base).partition("[")[0] for base in node.bases), *told]:
        if name in known:
            yield known[name]
            yield from bases(known[name], known)


def missing() -> dict[str, list[str]]:
    """By file, each function of which a parameter is not said."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    modules = [Module(path) for path in paths if not str(path.relative_to(ROOT)).startswith(LEFT_OUT)]
    known = {name: node for module in modules for name, node in module.classes.items()}
    found = {str(module.path.relative_to(ROOT)): list(module.unsaid(known)) for module in modules}
    return {path: functions for path, functions in found.items() if functions}


def test_every_parameter_is_said() -> None:
    assert missing() == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('"""Do it."""', ["first", "second"]),
        ('"""Do it.\n\n    Args:\n        first: one.\n    """', ["second"]),
        ('"""Do it to `second`.\n\n    Args:\n        first: one.\n    """', []),
        ('"""Do it.\n\n    Args:\n        first: one.\n        second: two,\n            too.\n    """', []),
    ],
)
def test_a_parameter_that_is_not_said_is_found(text: str, names: list[str]) -> None:
    (function,) = ast.parse(f"def do(first, second):\n    {text}\n").body
    assert isinstance(function, Function)
    assert unsaid(function) == names
