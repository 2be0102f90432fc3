"""The table of operations, and how one is run: the asker is checked, arguments converted, writes atomic."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from herdr.campaign.moves import PEOPLE as PEOPLE
from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.home import Home
from herdr.store.connection import Store, transaction
from herdr.store.rows import Agent, Project, fetch, find

EVERYONE = frozenset({"human", "orchestrator", "worker", "research", "watchdog", "lead"})
#: The modules of this package that hold operations, by the first word of an operation's name.
FAMILIES = (
    "agent", "apply", "candidate", "comment", "event", "history", "idea", "inbox", "message", "orchestrator",
    "project", "run", "search", "sql",
)  # fmt: skip

R = TypeVar("R", bound="Request")


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of an operation."""


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, from where, and the open store.

    `agent` is set when an agent asks; `cwd` is the asker's; `writing` while an operation changes things.
    """

    conn: Store
    home: Home
    actor: str
    cwd: Path
    agent: Agent | None = None
    writing: bool = False

    @property
    def role(self) -> str:
        """`human`, `orchestrator`, or the role of the agent."""
        return self.actor.partition("#")[0]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be asked for."""

    name: str
    request: type[Request]
    who: frozenset[str]
    writes: bool
    function: Callable[[Context, Any], Any]


OPERATIONS: dict[str, Operation] = {}


def operation(
    name: str, request: type[R], *, who: frozenset[str] = EVERYONE, writes: bool = False
) -> Callable[[Callable[[Context, R], Any]], Callable[[Context, R], Any]]:
    """Enter a function in the table of operations.

    Args:
        name: `family.verb`; the family is a module of this package.
        request: the struct of its arguments.
        who: the roles that may ask for it.
        writes: run it in a transaction.
    """

    def enter(function: Callable[[Context, R], Any]) -> Callable[[Context, R], Any]:
        OPERATIONS[name] = Operation(name=name, request=request, who=who, writes=writes, function=function)
        return function

    return enter


def run(context: Context, name: str, arguments: Mapping[str, object]) -> Any:
    """Run an operation and return its answer as plain JSON-able data.

    Raises:
        UsageError: there is no such operation, or an argument does not fit.
        RefusedError: the asker's role may not do this.
        HerdrError: whatever the operation itself refuses.
    """
    wanted, request = check(context, name, arguments)
    if not wanted.writes:
        return perform(context, wanted, request)
    with transaction(context.conn):
        return perform(context, wanted, request)


def check(context: Context, name: str, arguments: Mapping[str, object]) -> tuple[Operation, Request]:
    """Find an operation, make sure that the asker may use it, and convert its arguments; see `run`."""
    wanted = look_up(name)
    if context.role not in wanted.who:
        raise RefusedError(
            f"{context.actor} may not use {name}", fix="write what you want in a comment; a person reads it"
        )
    try:
        return wanted, msgspec.convert(dict(arguments), wanted.request)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}") from error


def perform(context: Context, wanted: Operation, request: Request) -> Any:
    """Carry out a checked operation; one that writes must be inside a transaction."""
    context = msgspec.structs.replace(context, writing=wanted.writes)
    return msgspec.to_builtins(wanted.function(context, request))


def look_up(name: str) -> Operation:
    """Find an operation by its name, importing only its family.

    Raises:
        UsageError: there is no such operation.
    """
    family = name.partition(".")[0]
    if family in FAMILIES:
        importlib.import_module(f"herdr.ops.{family}")
    if name not in OPERATIONS:
        raise UsageError(f"there is no operation {name!r}")
    return OPERATIONS[name]


def project_of(context: Context, named: str | None, *, writing: bool = False) -> Project:
    """The project that an asker means: the one named, else the agent's own, the one around `cwd`, the only one.

    The only one is meant from outside of its repo only by who reads, and not from inside another repo: nobody who
    wants to change something there stands here.

    Args:
        context: who asks, and from where.
        named: a project's name, or a path inside its repo.
        writing: something is changed although the operation itself writes nothing.

    Raises:
        UsageError: it is not registered, or several could be meant.
    """
    if context.agent is not None:
        return _own_project(context, context.agent, named)
    projects = fetch(context.conn, Project, "ORDER BY name")
    if named is not None:
        return _named(context, projects, named)
    if not projects:
        raise UsageError("no project is registered", fix="run `herdr init` inside a git repo")
    around = [p for p in projects if context.cwd.resolve().is_relative_to(Path(p.path))]
    if around:
        return max(around, key=lambda project: len(project.path))
    repo = _repo_around(context.cwd)
    for project in projects:
        if repo is not None and repo == Path(project.path):
            return project
    if len(projects) == 1 and repo is None and not (writing or context.writing):
        return projects[0]
    names = projects[0].name if len(projects) == 1 else f"one of {', '.join(p.name for p in projects)}"
    raise UsageError(
        f"which project? {context.cwd} is in the repo of none",
        fix=f"name it (PROJECT in the command's --help): {names}; or cd into its repo",
    )


def _repo_around(folder: Path) -> Path | None:
    """The main checkout around a folder, also from a worktree elsewhere."""
    from herdr.repo.checks import find_root

    try:
        return find_root(folder)
    except HerdrError:
        return None


def projects_of(context: Context, named: str | None) -> list[Project]:
    """The project that an asker means, as `project_of` finds it, or all of them when it could be any.

    Raises:
        UsageError: the one named is not registered, or none is.
    """
    try:
        return [project_of(context, named)]
    except UsageError:
        everything = fetch(context.conn, Project, "ORDER BY name")
        if named is not None or not everything:
            raise
        return everything


def _own_project(context: Context, agent: Agent, named: str | None) -> Project:
    own = find(context.conn, Project, "WHERE id = ?", agent.project_id)
    assert own is not None
    if named is not None and named != own.name and not Path(named).is_dir():
        raise RefusedError(f"{context.actor} works for project {own.name}, not {named!r}")
    return own


def _named(context: Context, projects: list[Project], named: str) -> Project:
    for project in projects:
        if project.name == named:
            return project
    path = (context.cwd / named).resolve()
    for project in projects:
        if path.is_relative_to(project.path) and path.exists():
            return project
    known = ", ".join(p.name for p in projects) or "none yet"
    raise UsageError(
        f"no project is called {named!r} (registered: {known})",
        fix="run `herdr init` inside its repo, or check the name",
    )


def failure(error: HerdrError) -> dict[str, Any]:
    """An error as the data that goes back to an agent."""
    return {"error": error.message, "fix": error.fix, "exit_code": error.exit_code}
