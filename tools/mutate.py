"""Changes the pure rules one place at a time, and looks whether the tests of their own folder notice.

    python tools/mutate.py [--only herdr/trunk] [--jobs 2]

A change that no test notices is a survivor: the rule is not held there. It has to be killed by a test, or listed
in `tools/mutants.toml` with the reason why it changes nothing that can be seen. Of the rules of the head
and the keep rule none may be listed.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.util
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
LISTED = ROOT / "tools" / "mutants.toml"
#: Which tests have to notice what is changed where.
FOLDERS = {"herdr/trunk": "tests/trunk", "herdr/campaign": "tests/campaign"}
#: Where no survivor may be listed.
STRICT = ("herdr/trunk/", "herdr/campaign/verdict.py")
#: Seconds until tests that go on and on have noticed that something is wrong.
LIMIT = 40

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
}  # fmt: skip
SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Pow: ast.Mult, ast.LShift: ast.RShift,
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
#: Words of a vocabulary; what people read is not changed.
WORD = re.compile(r"[a-z_#*]+")


class Mutant(NamedTuple):
    """One change: the file, the function around it, the text there, what is made of it, the new source."""

    file: str
    function: str
    line: int
    before: str
    after: str
    source: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """How it is known, wherever its line goes."""
        return self.file, self.function, self.before, self.after


# --- changes --------------------------------------------------------------------------------------------------


def mutants(file: str) -> Iterator[Mutant]:
    """Every change of a module, in the order of its lines; two in one line that read the same are one."""
    text = (ROOT / file).read_text()
    seen = set()
    for number, (function, node) in enumerate(places(ast.parse(text))):
        for choice, after in enumerate(changes(node)):
            tree = ast.parse(text)
            found = list(places(tree))[number][1]
            new = list(changes(found))[choice]
            replace(tree, found, new)
            source = ast.unparse(ast.fix_missing_locations(tree))
            if source in seen:
                continue
            seen.add(source)
            line = getattr(node, "lineno", 0)
            yield Mutant(file, function, line, show(node), show(after), source)


def places(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """What can be changed, with the name of the function or class that it is in."""

    def walk(node: ast.AST, function: str) -> Iterator[tuple[str, ast.AST]]:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}".lstrip(".")
            inside: list[ast.AST] = list(node.body)
            if isinstance(node, ast.FunctionDef):
                inside += [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        elif isinstance(node, (ast.Import, ast.ImportFrom, ast.Assert)) or is_docstring(node) or is_type(node):
            return
        elif isinstance(node, ast.AnnAssign):
            inside = [node.value] if node.value is not None else []
        else:
            inside = list(ast.iter_child_nodes(node))
        yield function, node
        for one in inside:
            yield from walk(one, function)

    yield from walk(tree, "")


def is_docstring(node: ast.AST) -> bool:
    """Whether it is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_type(node: ast.AST) -> bool:
    """Whether it defines a type: `S = TypeVar("S")`, `Judge = Callable[…]`."""
    if not isinstance(node, ast.Assign):
        return False
    return bool(re.match(r"TypeVar\(|Callable\[|Literal\[", ast.unparse(node.value)))


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What a place is changed into."""
    if isinstance(node, ast.stmt):
        yield from changed_statements(node)
    elif isinstance(node, (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.IfExp)):
        yield from changed_conditions(node)
    elif isinstance(node, ast.Constant):
        yield from changed_constants(node)
    elif isinstance(node, ast.BinOp) and type(node.op) in SUMS and not is_text(node.left, node.right):
        yield with_(node, op=SUMS[type(node.op)]())
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
        yield with_(node, func=ast.Name(id=CALLS[node.func.id], ctx=ast.Load()))


def changed_statements(node: ast.stmt) -> Iterator[ast.AST]:
    """A condition turned round, a way out or a deed left out, a result that is none."""
    if isinstance(node, ast.If):
        yield with_(node, test=ast.UnaryOp(op=ast.Not(), operand=node.test))
        if isinstance(node.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            yield with_(node, body=[ast.Pass()])
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            yield with_(node, value=ast.Constant(value=None))
    elif isinstance(node, (ast.Break, ast.Continue)) or is_deed(node):
        yield ast.Pass()
    elif isinstance(node, ast.AugAssign) and type(node.op) in SUMS and not is_text(node.value):
        yield with_(node, op=SUMS[type(node.op)]())


def changed_conditions(node: ast.Compare | ast.BoolOp | ast.UnaryOp | ast.IfExp) -> Iterator[ast.AST]:
    """Another comparison, `or` for `and`, one part left out, no `not`, branches swapped."""
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield with_(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])
    elif isinstance(node, ast.BoolOp):
        yield with_(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for place in range(len(node.values)):
            rest = [*node.values[:place], *node.values[place + 1 :]]
            yield with_(node, values=rest) if len(rest) > 1 else rest[0]
    elif isinstance(node, ast.IfExp):
        yield with_(node, body=node.orelse, orelse=node.body)
    elif isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand


def changed_constants(node: ast.Constant) -> Iterator[ast.AST]:
    """Another value of the same kind."""
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(value=not value)
    elif isinstance(value, (int, float)):
        yield ast.Constant(value=value + 1)
    elif isinstance(value, str) and WORD.fullmatch(value):
        yield ast.Constant(value=f"not {value}")


def is_deed(node: ast.stmt) -> bool:
    """Whether it is a call for what it does."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def is_text(*parts: ast.expr) -> bool:
    """Whether texts or lists are put together, where a minus would only raise an error."""
    return any(isinstance(part, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)) for part in parts)


def with_(node: ast.AST, **fields: object) -> ast.AST:
    """The same node with other fields."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Put a node in the place of another."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
            elif isinstance(value, list):
                setattr(parent, name, [new if one is old else one for one in value])


def show(node: ast.AST) -> str:
    """The first line of a node as text; of an `if`, with what its body begins with."""
    lines = [line.strip() for line in ast.unparse(ast.fix_missing_locations(copy.deepcopy(node))).splitlines()]
    return " ".join(lines[:2])


# --- running --------------------------------------------------------------------------------------------------


class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a changed source in place of the module's own."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname: str, *_place: object) -> ModuleSpec | None:
        """The changed module, and no other."""
        if fullname != self.name:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=str(self.path))

    def exec_module(self, module: ModuleType) -> None:
        """Run the changed source."""
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)  # noqa: S102 - that is the point


def folder_of(file: str) -> str:
    """The test folder of a module."""
    return next(tests for part, tests in FOLDERS.items() if file.startswith(part))


def tests_of(file: str) -> list[str]:
    """The test files of a module's folder: its own first, since that is the one to notice."""
    folder = folder_of(file)
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("test_*.py"))
    own = f"{folder}/test_{Path(file).stem}.py"
    return sorted(files, key=lambda path: path != own)


def passes(file: str, source: str) -> int:
    """Start the tests of a module with another source in a process of their own; gives its id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.alarm(LIMIT)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        name = file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        sys.meta_path.insert(0, Changed(name, ROOT / file, source))
        with tempfile.TemporaryDirectory() as folder:
            status = run_tests(tests_of(file), folder)
    finally:
        os._exit(status)


def run_tests(files: Sequence[str], folder: str) -> int:
    """Run tests until the first fails: a module's own file first, and the others if that notices nothing."""
    import hypothesis
    import pytest

    # The same examples each time, and none made smaller: that one fails is enough.
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, deadline=None, max_examples=50, phases=phases
    )
    hypothesis.settings.load_profile("mutants")
    # Only the plugins that these tests need, since each would be loaded for each mutant.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugins = ["-p", "pytest_timeout", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider"]
    options = ["-x", "-q", "--tb=no", "--assert=plain", *plugins, f"--basetemp={folder}/tests"]
    first = int(pytest.main([*options, files[0]]))
    return first or int(pytest.main([*options, *files[1:]]))


def survivors(found: Sequence[Mutant], jobs: int) -> list[Mutant]:
    """Run the tests with each mutant, so many at a time, and give those that none notices."""
    waiting, running, alive = list(reversed(found)), dict[int, Mutant](), []
    done, began = 0, time.monotonic()
    while waiting or running:
        while waiting and len(running) < jobs:
            mutant = waiting.pop()
            running[passes(mutant.file, mutant.source)] = mutant
        pid, status = os.wait()
        mutant = running.pop(pid)
        done += 1
        if status == 0:
            alive.append(mutant)
            print(
                f"{mutant.file}:{mutant.line} {mutant.function}: {mutant.before}  ->  {mutant.after}", flush=True
            )
        if done % 100 == 0:
            print(f"… {done} of {len(found)} in {time.monotonic() - began:.0f} s", flush=True)
    return alive


def listed() -> dict[tuple[str, str, str, str], str]:
    """The survivors that are known to change nothing, with the reasons.

    Raises:
        SystemExit: one is listed where none may be, or without a reason.
    """
    entries = tomllib.loads(LISTED.read_text()).get("mutant", []) if LISTED.exists() else []
    for one in entries:
        if one["file"].startswith(STRICT) or not one.get("reason", "").strip():
            raise SystemExit(
                f"{LISTED.name}: no mutant of {one['file']} may be listed without a reason, or at all"
            )
    return {(one["file"], one["function"], one["before"], one["after"]): one["reason"] for one in entries}


def load() -> None:
    """Load once, before the forks, what is the same for every mutant."""
    for name in ("hypothesis", "pytest", "pytest_timeout", "herdr.config", "herdr.home", "herdr.store.rows"):
        importlib.import_module(name)
    loaded = [name for name in sys.modules if name.startswith(tuple(part.replace("/", ".") for part in FOLDERS))]
    assert not loaded, f"{loaded} would not be changed"


def main() -> int:
    """Make every mutant, run its tests, and say what survived; 1 when a survivor is not listed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=[], help="folders or files to look at, and no others")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    wanted = parser.parse_args()
    os.chdir(ROOT)
    load()
    known = listed()
    files = [str(path.relative_to(ROOT)) for part in FOLDERS for path in sorted((ROOT / part).glob("*.py"))]
    files = [file for file in files if file.startswith(tuple(wanted.only) or "")]
    found = [mutant for file in files for mutant in mutants(file)]
    files = sorted({mutant.file for mutant in found})
    for file in {folder_of(file): file for file in files}.values():
        if os.waitpid(passes(file, ast.unparse(ast.parse((ROOT / file).read_text()))), 0)[1]:
            print(f"{file}: its tests fail as it is")
            return 2
    print(f"{len(found)} mutants of {len(files)} modules", flush=True)
    alive = survivors(found, wanted.jobs)
    unknown = [mutant for mutant in alive if mutant.key not in known]
    stale = {key for key in known if key[0] in files} - {mutant.key for mutant in alive}
    for key in sorted(stale):
        print(f"listed, and not found alive: {' | '.join(key)}")
    print(f"{len(found) - len(alive)} of {len(found)} are noticed, {len(alive) - len(unknown)} are listed")
    print(f"{len(unknown)} survive")
    return 1 if unknown or stale else 0


if __name__ == "__main__":
    sys.exit(main())
