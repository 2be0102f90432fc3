"""The legal moves of an idea from one status to another, and who may make each (docs/ideas-seeds-runs.md)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from herdr.contract.words import IdeaStatus
from herdr.errors import RefusedError

HUMAN = frozenset({"human"})
PEOPLE = frozenset({"human", "orchestrator"})
#: Who defines ideas.
AUTHORS = PEOPLE | {"research", "lead"}
#: Who files hunches: whoever defines ideas, and the watchdog. A worker files nothing.
SEEDERS = AUTHORS | {"watchdog"}
DAEMON = frozenset({"daemon"})


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A move by its name: from any of `sources` to `to`, by the roles in `who`."""

    name: str
    sources: frozenset[IdeaStatus]
    to: IdeaStatus
    who: frozenset[str]


def _move(name: str, sources: Sequence[IdeaStatus], to: IdeaStatus, who: frozenset[str]) -> Move:
    return Move(name=name, sources=frozenset(sources), to=to, who=who)


#: A person may park or reject what is scheduled: its run goes on, and the daemon then leaves the idea alone. Only
#: a human approves, because that is what `proposed` waits for. What was never developed cannot become ready: it
#: becomes the seed again that it was.
MOVES = (
    _move("approve", ("proposed",), "ready", HUMAN),
    _move("develop", ("seed",), "ready", AUTHORS),
    _move("propose", ("seed",), "proposed", AUTHORS),
    _move("park", ("seed", "proposed", "ready", "scheduled"), "parked", PEOPLE),
    _move("reject", ("seed", "proposed", "ready", "scheduled", "parked"), "rejected", PEOPLE),
    _move("reject", ("seed",), "rejected", frozenset({"research"})),
    _move("ready", ("parked", "rejected", "done"), "ready", PEOPLE),
    _move("reopen", ("parked", "rejected"), "seed", PEOPLE),
    _move("schedule", ("ready",), "scheduled", DAEMON),
    _move("retry", ("scheduled",), "ready", DAEMON),
    _move("finish", ("scheduled",), "done", DAEMON),
    _move("park", ("scheduled",), "parked", DAEMON),
    _move("supersede", ("seed", "proposed", "ready"), "rejected", DAEMON),
)


def move(idea: str, name: str, status: IdeaStatus, role: str) -> IdeaStatus:
    """Where a move leads.

    Args:
        idea: how the idea is called, for the error.
        name: of the move, as in `MOVES`.
        status: the idea's status now.
        role: who makes it, such as `human` or `research`.

    Raises:
        RefusedError: it is not legal from here, or not for this role.
    """
    named = [one for one in MOVES if one.name == name]
    possible = [one for one in named if status in one.sources]
    for one in possible:
        if role in one.who:
            return one.to
    if possible:
        who = sorted(set().union(*(one.who for one in possible)))
        raise RefusedError(
            f"{idea} is {status}: only {' or '.join(who)} may {name} it",
            fix="write what you think in a comment; a person reads it",
        )
    raise RefusedError(f"{idea} is {status}: there is nothing to {name}", fix=_instead(idea, status, role))


def changes(who: frozenset[str]) -> set[tuple[IdeaStatus, IdeaStatus]]:
    """Every change of status that one of these roles may make, as (from, to)."""
    return {(source, one.to) for one in MOVES for source in one.sources if one.who & who}


def _instead(idea: str, status: IdeaStatus, role: str) -> str:
    names = dict.fromkeys(one.name for one in MOVES if status in one.sources and role in one.who)
    commands = [name for name in names if name not in ("propose", "reopen")]
    if not commands:
        return f"piloop idea show {idea}"
    return " or ".join(f"piloop idea {name} {idea}" for name in commands)
