"""The table of operations, and how one is run: the asker is checked, arguments converted, writes atomic."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast, get_args

import msgspec

from herdr.campaign.moves import PEOPLE as PEOPLE
from herdr.errors import HerdrError, RefusedError, UsageError
from herdr.home import Home
from herdr.store.connection import Store, transaction
from herdr.store.queries import all_projects
from herdr.store.rows import Agent, Project, get_or_none

EVERYONE = frozenset({"human", "orchestrator", "worker", "research", "watchdog", "lead"})
#: The modules of this package that hold operations, by the first word of an operation's name.
FAMILIES = (
    "agent", "apply", "candidate", "comment", "event", "history", "idea", "inbox", "message", "orchestrator",
    "project", "run", "search", "sql",
)  # fmt: skip

A = TypeVar("A")
Q = TypeVar("Q")
Q_co = TypeVar("Q_co", covariant=True)
A_co = TypeVar("A_co", covariant=True)


class Request(msgspec.Struct, Generic[A_co], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of an operation, which knows the type of its answer: `class AddIdea(Request[IdeaFiled])`.

    `operation` is the name that it goes by in an agent's mailbox.
    """

    operation: ClassVar[str]

    @classmethod
    def answer_type(cls) -> type[A_co]:
        """What the answer is, for whoever has it as JSON."""
        bases = next(vars(one)["__orig_bases__"] for one in cls.__mro__ if "__orig_bases__" in vars(one))
        answer: type[A_co] = get_args(bases[0])[0]
        return answer


class Asks(Protocol[Q_co, A_co]):
    """A class of requests, as mypy needs to see it to relate a request, its answer and the function between."""

    def __call__(self, *args: Any, **arguments: Any) -> Q_co:
        """Make a request."""

    def answer_type(self) -> type[A_co]:
        """The type of its answer."""


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
    """One thing that can be asked for; `function` takes a `request` and returns exactly its type of answer."""

    name: str
    request: type[Request[object]]
    who: frozenset[str]
    writes: bool
    function: Callable[[Context, Any], Any]


OPERATIONS: dict[str, Operation] = {}


def operation(
    request: Asks[Q, A], *, who: frozenset[str] = EVERYONE, writes: bool = False
) -> Callable[[Callable[[Context, Q], A]], Callable[[Context, Q], A]]:
    """Enter a function in the table of operations.

    Args:
        request: the class of its requests, which has the operation's name: `family.verb`; the family is a module
            of this package.
        who: the roles that may ask for it.
        writes: run it in a transaction.
    """

    def enter(function: Callable[[Context, Q], A]) -> Callable[[Context, Q], A]:
        asks = cast("type[Request[object]]", request)
        name = asks.operation
        OPERATIONS[name] = Operation(name=name, request=asks, who=who, writes=writes, function=function)
        return function

    return enter


def run(context: Context, request: Request[A]) -> A:
    """Run an operation and return its answer.

    Args:
        context: who asks.
        request: what is asked for.

    Raises:
        UsageError: an argument does not fit.
        RefusedError: the asker's role may not do this.
        HerdrError: whatever the operation itself refuses.
    """
    wanted = OPERATIONS[request.operation]
    check(context, wanted)
    # The types hold what mypy sees; a number out of range is seen only now.
    fitting = cast("Request[A]", read_request(wanted, msgspec.structs.asdict(request)))
    if not wanted.writes:
        return perform(context, fitting)
    with transaction(context.conn):
        return perform(context, fitting)


def check(context: Context, wanted: Operation) -> None:
    """Make sure that the asker may use an operation.

    Args:
        context: who asks.
        wanted: the operation.

    Raises:
        RefusedError: the asker's role may not do this.
    """
    if context.role not in wanted.who:
        raise RefusedError(
            f"{context.actor} may not use {wanted.name}",
            fix="write what you want in a comment; a person reads it",
        )


def perform(context: Context, request: Request[A]) -> A:
    """Carry out a checked request; one that writes must be inside a transaction.

    Args:
        context: who asks.
        request: what is asked for, once `check` has let it pass.
    """
    wanted = OPERATIONS[request.operation]
    answer: A = wanted.function(msgspec.structs.replace(context, writing=wanted.writes), request)
    return answer


def read_request(wanted: Operation, arguments: Mapping[str, object]) -> Request[object]:
    """Make a request of what came from outside.

    Args:
        wanted: the operation that is asked for.
        arguments: its arguments by name.

    Raises:
        UsageError: one of them does not fit.
    """
    try:
        return msgspec.convert(dict(arguments), wanted.request)
    except msgspec.ValidationError as error:
        raise UsageError(f"{wanted.name}: {error}") from error


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
    projects = all_projects(context.conn)
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

    Args:
        context: who asks, and from where.
        named: a project's name, or a path inside its repo; None when nothing was said.

    Raises:
        UsageError: the one named is not registered, or none is.
    """
    try:
        return [project_of(context, named)]
    except UsageError:
        everything = all_projects(context.conn)
        if named is not None or not everything:
            raise
        return everything


def _own_project(context: Context, agent: Agent, named: str | None) -> Project:
    own = get_or_none(context.conn, Project, agent.project_id)
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


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the daemon writes back to an agent: the answer as JSON, or why there is none."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    error: str | None = None
    fix: str | None = None
    exit_code: int = 1
