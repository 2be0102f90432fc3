"""Finds what an asker names, such as `run#7`; an agent finds only what belongs to its own project."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from herdr.campaign.text import first_line, parse_ref, ref
from herdr.contract.words import TargetKind
from herdr.errors import HerdrError, UsageError
from herdr.ops.core import Context, project_of
from herdr.store.rows import Agent, Candidate, Comment, Idea, Project, Run, get_or_none

ROLES = ("worker", "research", "watchdog", "lead")
KINDS: dict[TargetKind, type[Idea] | type[Run] | type[Candidate] | type[Comment]] = {
    "idea": Idea,
    "run": Run,
    "candidate": Candidate,
    "comment": Comment,
}
#: A title is one line of a table.
TITLE_LENGTH = 200
TEXT_BYTES = 200_000

T = TypeVar("T", bound="Idea | Run | Candidate | Comment")


def look(context: Context, kind: type[T], text: str) -> T:
    """Find an idea, run, candidate or comment by its name.

    Args:
        context: who asks.
        kind: what is meant.
        text: `idea#12`, or only `12`.

    Raises:
        UsageError: it is no such name, or there is nothing of that name.
    """
    word = kind.table.removesuffix("s")
    number = parse_ref(text, [word])[1]
    row = get_or_none(context.conn, kind, number)
    if row is None or _foreign(context, row.project_id):
        raise _missing(word, number)
    return row


def look_agent(context: Context, text: str) -> Agent:
    """Find an agent by its name, `worker#3`, or by its number alone; see `look`.

    Args:
        context: who asks.
        text: `worker#3`, or only `3`.
    """
    try:
        if text.strip().isdigit():
            role, number = "agent", parse_ref(text, ["worker"])[1]
        else:
            role, number = parse_ref(text, [*ROLES, "agent"])
    except UsageError as error:
        fix = "write worker#N, or only the number; `piloop status` lists those that run"
        raise UsageError(f"{text!r} does not name an agent", fix=fix) from error
    agent = get_or_none(context.conn, Agent, number)
    if agent is None or role not in (agent.role, "agent") or _foreign(context, agent.project_id):
        raise UsageError(f"there is no {ref(role, number)}", fix="`piloop status` lists those that run")
    return agent


def look_target(context: Context, text: str) -> tuple[TargetKind, int, int]:
    """Find what a comment is on, as (kind in the store, id, the project's id).

    Args:
        context: who asks.
        text: the name of a thing, or `project` for the project around, or a project's own name.

    Raises:
        UsageError: it names nothing.
    """
    word = text.strip()
    if "#" not in word:
        project = project_of(context, None if word == "project" else word)
        return "project", project.id, project.id
    kind, number = parse_ref(word, ["project", *KINDS, *ROLES, "agent"])
    if kind == "project":
        if get_or_none(context.conn, Project, number) is None or _foreign(context, number):
            raise _missing(kind, number)
        return "project", number, number
    for one, row in KINDS.items():
        if one == kind:
            return one, number, look(context, row, word).project_id
    return "agent", number, look_agent(context, word).project_id


def title_of(text: str) -> str:
    """A title as it is stored: one line, without control characters.

    Raises:
        UsageError: nothing is left, or it is too long.
    """
    title = first_line(" ".join(text_of(text, "a title").split()), TITLE_LENGTH + 1)
    if not title:
        raise UsageError("the title is empty", fix="say in a few words what to try")
    if len(title) > TITLE_LENGTH:
        raise UsageError(
            f"the title has more than {TITLE_LENGTH} characters", fix="put the rest into --hypothesis or --plan"
        )
    return title


def text_of(text: str, what: str) -> str:
    """A text as it may be stored.

    Args:
        text: what somebody wrote.
        what: what it is, for the error: `a comment`.

    Raises:
        UsageError: it is not UTF-8, holds a NUL byte, or is too long.
    """
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} must be UTF-8", fix="check the terminal's locale") from error
    if size > TEXT_BYTES:
        raise UsageError(f"{what} may hold at most {TEXT_BYTES} bytes, not {size}", fix="put it in a file")
    if "\0" in text:
        raise UsageError(f"{what} may not hold a NUL byte", fix="leave it out")
    return text.strip()


def root_of(project: Project) -> Path:
    """The folder of a project's repo.

    Raises:
        HerdrError: it is not there any more.
    """
    root = Path(project.path)
    if not root.is_dir():
        raise HerdrError(f"the repo of {project.name} is not at {root} any more", fix=f"move it back to {root}")
    return root


def _missing(word: str, number: int) -> UsageError:
    listing = "status" if word == "project" else f"{word} list"
    return UsageError(f"there is no {ref(word, number)}", fix=f"see `piloop {listing}`")


def _foreign(context: Context, project_id: int | None) -> bool:
    return context.agent is not None and project_id != context.agent.project_id
