"""The event log, read."""

from __future__ import annotations

from typing import Annotated

import msgspec

from herdr.ops.core import Context, Request, operation, project_of
from herdr.ops.views import EventView, event_views
from herdr.store.rows import Event, fetch


class ListEvents(Request[list[EventView]], frozen=True, kw_only=True):
    """Which events: the first `limit` after an id, or the newest; of one project, and of one kind or subject.

    `kind` is a whole kind such as `run.queued`, or its subject: `run`.
    """

    operation = "event.list"
    project: str | None = None
    after: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    kind: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 50


@operation(ListEvents)
def list_events(context: Context, request: ListEvents) -> list[EventView]:
    """List events in the order in which they happened; those of no project are everybody's."""
    named = request.project is not None or context.agent is not None
    project_id = project_of(context, request.project).id if named else None
    order = "DESC" if request.after is None else "ASC"
    events = fetch(
        context.conn,
        Event,
        "WHERE id > ? AND (? IS NULL OR project_id IS ? OR project_id IS NULL)"
        " AND (? IS NULL OR kind = ? OR substr(kind, 1, length(?) + 1) = ? || '.')"
        f" ORDER BY id {order} LIMIT ?",
        *(request.after or 0, project_id, project_id),
        *(request.kind,) * 4,
        request.limit,
    )
    return event_views(context.conn, events if request.after is not None else events[::-1])
