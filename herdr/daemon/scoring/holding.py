"""Holds verdicts back while what is linked without protection is not what a person has agreed to.

An agent, or a candidate's code in a scoring, can write there, and the evaluator reads the same files. What was
scored meanwhile says nothing, so a person decides: by measuring again, a verdict, or an answer in the inbox.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio.to_thread

from herdr.campaign.text import ref
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.errors import HerdrError
from herdr.repo.prints import changes
from herdr.store.connection import Store
from herdr.store.rows import Candidate, Comment, Run, find
from herdr.trunk import moves
from herdr.trunk.reading import candidates_of

#: How many files are named, and the priority of what is told.
NAMED, PRIORITY = 5, 0


class LinkedChangedError(HerdrError):
    """A scoring was made with files that a person has not agreed to; it is no score."""

    def __init__(self, changed: Sequence[str], candidate_id: int) -> None:
        name = ref("candidate", candidate_id)
        super().__init__(
            f"{named(changed)} changed, which is linked without a copy",
            fix=f"put it back; or, if it is to stay: piloop candidate remeasure {name} --reason '…'",
        )


async def hold_run(app: AppContext, fleet: Fleet, run: Run) -> None:
    """Hold the candidates of an ended run that have no verdict, if what is linked has changed.

    Args:
        app: the daemon.
        fleet: the project.
        run: the run.
    """
    changed = await anyio.to_thread.run_sync(changes, fleet.own, borrowed(fleet))
    if changed:
        with app.transaction() as store:
            hold(store, candidates_of(store, run), changed, run)


def borrowed(fleet: Fleet) -> list[str]:
    """The `link` paths that are not meant to be written to."""
    return [path for path in fleet.config.linked if path not in fleet.config.shared]


def hold(store: Store, candidates: Sequence[Candidate], changed: Sequence[str], run: Run) -> None:
    """Hold those of a run's candidates that are to be judged, and tell a person.

    Args:
        store: inside a transaction.
        candidates: some candidates of the run.
        changed: the files that are not what a person agreed to.
        run: whose they are.
    """
    files = named(changed)
    moves.hold(store, candidates, f"no verdict yet: {files} changed, a person decides", ACTOR)
    waiting = [ref("candidate", one.id) for one in candidates_of(store, run) if one.held]
    body = (
        f"{files}: changed while {ref('run', run.id)} worked or was scored. Agents and evaluators can write to"
        " what is linked without a copy, and scores that were made with other files cannot be compared."
    )
    if waiting:
        body += (
            f" {', '.join(waiting)} gets no verdict before you decide. Put the files back, or leave them as they"
            " are; then answer this with `remeasure`, or with `discard`."
        )
    known = "WHERE target_kind = 'run' AND target_id = ? AND actor = ? AND body = ?"
    if find(store, Comment, known, run.id, ACTOR, body) is None:
        Comment.insert(
            store,
            project_id=run.project_id,
            target_kind="run",
            target_id=run.id,
            kind="escalation",
            priority=PRIORITY,
            body=body,
            actor=ACTOR,
        )


def named(files: Sequence[str]) -> str:
    """A few of some files, and how many more there are."""
    more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
    return f"{', '.join(files[:NAMED])}{more}"
