"""Moves ideas from status to status, as `herdr.campaign.moves` allows, and says who did it and why."""

from __future__ import annotations

import msgspec

from herdr.campaign.moves import PEOPLE, move
from herdr.campaign.text import ref
from herdr.contract.words import IdeaStatus
from herdr.errors import RefusedError, UsageError
from herdr.ops.core import Context, Request, operation
from herdr.ops.look import look
from herdr.ops.why import because, note, reason_of
from herdr.store.columns import IdeaChanges
from herdr.store.connection import Store
from herdr.store.queries import unsettled_run
from herdr.store.rows import Idea, Run, find


class IdeaMoved(msgspec.Struct, frozen=True, kw_only=True):
    """An idea, the status that it had and the one that it has; `run` is its run that goes on, if one does."""

    ref: str
    title: str
    old: IdeaStatus
    status: IdeaStatus
    run: str | None


class MoveIdea(Request[IdeaMoved], frozen=True, kw_only=True):
    """One idea, and why it moves."""

    idea: str
    reason: str | None = None


class ApproveIdea(MoveIdea, frozen=True, kw_only=True):
    """An idea that may run."""

    operation = "idea.approve"


class ParkIdea(MoveIdea, frozen=True, kw_only=True):
    """An idea to set aside for now."""

    operation = "idea.park"


class RejectIdea(MoveIdea, frozen=True, kw_only=True):
    """An idea that never runs."""

    operation = "idea.reject"


class ReadyIdea(MoveIdea, frozen=True, kw_only=True):
    """An idea that runs, or runs again."""

    operation = "idea.ready"


@operation(ApproveIdea, who=frozenset({"human"}), writes=True)
def approve(context: Context, request: ApproveIdea) -> IdeaMoved:
    """Let a proposed idea run; see `_move`."""
    return _move(context, request, "approve", "approved")


@operation(ParkIdea, who=PEOPLE, writes=True)
def park(context: Context, request: ParkIdea) -> IdeaMoved:
    """Set an idea aside for now; see `_move`."""
    return _move(context, request, "park", "parked")


@operation(RejectIdea, who=PEOPLE | {"research"}, writes=True)
def reject(context: Context, request: RejectIdea) -> IdeaMoved:
    """Have an idea never run; research rejects seeds, and says which earlier work settled them. See `_move`."""
    if context.role not in PEOPLE and not reason_of(request.reason):
        raise UsageError(
            "a seed is rejected with a note that names the earlier work",
            fix='add --reason "idea#3 settled it: …"',
        )
    return _move(context, request, "reject", "rejected")


@operation(ReadyIdea, who=PEOPLE, writes=True)
def ready(context: Context, request: ReadyIdea) -> IdeaMoved:
    """Have an idea run (again); what was never developed becomes a seed again. See `_move`."""
    idea = look(context, Idea, request.idea)
    unsettled = unsettled_run(context.conn, idea.id)
    if unsettled is not None and idea.status != "scheduled":
        name = ref("run", unsettled.id)
        raise RefusedError(
            f"{name} of {ref('idea', idea.id)} is not finished ({unsettled.state})",
            fix=f"wait until it is judged, or piloop run cancel {name}",
        )
    if idea.status in ("parked", "rejected") and is_hunch(context.conn, idea.id):
        return _move(context, request, "reopen", "a seed again")
    return _move(context, request, "ready", "ready")


def is_hunch(conn: Store, idea_id: int) -> bool:
    """Whether an idea was filed as a seed and never developed; the event log remembers.

    Args:
        conn: the open store.
        idea_id: which idea.
    """
    return (
        conn.execute(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM events WHERE target_kind = 'idea' AND target_id = ?1"
            " AND kind = 'idea.added' AND json_extract(payload, '$.status') = 'seed')"
            " AND NOT EXISTS (SELECT 1 FROM events WHERE target_kind = 'idea' AND target_id = ?1"
            " AND kind = 'idea.status' AND json_extract(payload, '$.old') = 'seed'"
            " AND json_extract(payload, '$.new') IN ('ready', 'proposed'))",
            (idea_id,),
        ).fetchone()
        is not None
    )


def _move(context: Context, request: MoveIdea, name: str, past: str) -> IdeaMoved:
    """Make a move.

    Raises:
        UsageError: there is no such idea.
        RefusedError: the move is not legal from its status, or not for the asker.
    """
    idea = look(context, Idea, request.idea)
    reason = reason_of(request.reason)
    status = move(ref("idea", idea.id), name, idea.status, context.role)
    values: IdeaChanges = {"status": status}
    if status == "seed":
        # As if it were new: research gets it again.
        values["sweep_id"], values["sweeps"] = None, 0
    with because(context.conn, reason):
        Idea.update(context.conn, idea.id, **values, actor=context.actor)
    if reason is not None:
        note(context, ("idea", idea.id), idea.project_id, f"{past}: {reason}", decides=True)
    run = find(context.conn, Run, "WHERE idea_id = ? AND state IN ('queued', 'running')", idea.id)
    return IdeaMoved(
        ref=ref("idea", idea.id),
        title=idea.title,
        old=idea.status,
        status=status,
        run=ref("run", run.id) if run is not None else None,
    )
