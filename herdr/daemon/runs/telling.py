"""What a person is told of a run: notes on it, and what waits in the inbox, each of them once."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from herdr.contract.words import CommentKind
from herdr.daemon.app_context import ACTOR, AppContext
from herdr.store.rows import Comment, Run, find

#: How urgent it is that a person looks at a run whose folder is lost, or that did not end as it should have.
PRIORITY = 1


def note_once(app: AppContext, run: Run, bodies: Iterable[str]) -> None:
    """Write notes on a run; one that is there already is not written again.

    Args:
        app: the daemon.
        run: the run.
        bodies: what each note says.
    """
    fresh = [body for body in dict.fromkeys(bodies) if not _told(app, run, "note", body)]
    if not fresh:
        return
    with app.transaction():
        for body in fresh:
            _tell(app, run, "note", body, None)


def escalate_once(app: AppContext, run: Run, body: str) -> None:
    """Put something about a run into the inbox; nothing is done when the same is there already.

    Args:
        app: the daemon.
        run: the run.
        body: what a person has to know, and what to do.
    """
    if not _told(app, run, "escalation", body):
        with app.transaction():
            _tell(app, run, "escalation", body, PRIORITY)


def lost_folder(run: Run, found: str) -> str:
    """What a person is told of a folder that is not the one that herdr made.

    Args:
        run: whose folder it was.
        found: what was found in its place.
    """
    folder = shlex.quote(run.worktree or "")
    return (
        f"The folder of run#{run.id}, {run.worktree}, is not the worktree that herdr made any more, so nothing"
        f" more is launched, committed or removed in it.\n\nFound: {found}\n\nWhat was committed in the run's own"
        f" repository is judged all the same; what was not committed is only in that folder, which stays.\n\n"
        f"Fix: look at it (ls -la {folder}), copy what you need, then: rm -rf {folder}"
    )


def failed_ending(run: Run, reason: str) -> str:
    """What a person is told of a run that could not be ended as it should have been.

    Args:
        run: the run.
        reason: which step failed, and why.
    """
    where = f" Its folder stays as it is: {run.worktree}." if run.worktree else ""
    return (
        f"run#{run.id} was given up: {reason}.{where}\n\n"
        f"Fix: piloop run show run#{run.id} has what is known;"
        f" piloop run requeue run#{run.id} tries its idea again"
    )


def _told(app: AppContext, run: Run, kind: CommentKind, body: str) -> bool:
    same = "WHERE target_kind = 'run' AND target_id = ? AND kind = ? AND body = ? AND actor = ?"
    return find(app.store, Comment, same, run.id, kind, body, ACTOR) is not None


def _tell(app: AppContext, run: Run, kind: CommentKind, body: str, priority: int | None) -> None:
    Comment.insert(
        app.store,
        project_id=run.project_id,
        target_kind="run",
        target_id=run.id,
        kind=kind,
        priority=priority,
        body=body,
        actor=ACTOR,
    )
