"""Why somebody changes something: in the event of the change, and as a comment beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from herdr.contract.words import CommentKind, TargetKind
from herdr.ops.core import PEOPLE, Context
from herdr.ops.look import text_of
from herdr.store.connection import Store
from herdr.store.rows import Comment


@contextmanager
def because(conn: Store, reason: str | None) -> Iterator[None]:
    """Have the events of what happens inside tell the reason; inside a transaction.

    Args:
        conn: the open store, inside a transaction.
        reason: what the events tell; None when nobody said.
    """
    conn.execute("UPDATE why SET reason = ?", (reason,))
    yield
    conn.execute("UPDATE why SET reason = NULL")


def reason_of(text: str | None) -> str | None:
    """A reason as it may be stored; None when nothing was said."""
    return None if text is None else text_of(text, "a reason") or None


def note(
    context: Context, target: tuple[TargetKind, int], project_id: int, body: str, *, decides: bool = False
) -> int:
    """Leave a comment in the asker's name, and return its id.

    Args:
        context: who asks.
        target: what it is on, as the store names it.
        project_id: the project of the target.
        body: what it says.
        decides: it is a decision; only people decide, so an agent's is a note.
    """
    kind: CommentKind = "decision" if decides and context.role in PEOPLE else "note"
    return Comment.insert(
        context.conn,
        project_id=project_id,
        target_kind=target[0],
        target_id=target[1],
        body=body,
        kind=kind,
        actor=context.actor,
    )
