"""What links between ideas ask of the daemon: superseded ideas are rejected, lost prerequisites are raised."""

from __future__ import annotations

from herdr.campaign.text import ref
from herdr.daemon.app_context import ACTOR, AppContext
from herdr.store.connection import Store
from herdr.store.rows import Comment, Idea

#: How urgent it is that somebody looks at an idea that waits for what will not come.
PRIORITY = 2

#: Of several sharper ideas the newest is named. A link is acted on once, so an idea that a person makes ready
#: again is not rejected again.
SUPERSEDED = """
    SELECT t.id, max(i.id) FROM ideas t
    JOIN idea_links l ON l.target_id = t.id AND l.kind = 'supersedes' AND l.acted_at IS NULL
    JOIN ideas i ON i.id = l.idea_id AND i.status <> 'rejected'
    WHERE t.project_id = ? AND t.status IN ('seed', 'proposed', 'ready')
      AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.idea_id = t.id)
    GROUP BY t.id
"""
LOST = """
    SELECT i.id, t.id, t.status FROM ideas t
    JOIN idea_links l ON l.target_id = t.id AND l.kind = 'after' AND l.acted_at IS NULL
    JOIN ideas i ON i.id = l.idea_id AND i.status IN ('ready', 'proposed')
    WHERE t.project_id = ? AND t.status IN ('parked', 'rejected')
    ORDER BY i.id, t.id
"""


def reconcile_links(app: AppContext, project_id: int) -> None:
    """Do what new links and moved ideas ask for; doing it again changes nothing."""
    store = app.store
    superseded = store.execute(SUPERSEDED, (project_id,)).fetchall()
    for target, by in superseded:
        with app.transaction():
            _reject(app, project_id, target, by)
    for waiting, target, status in store.execute(LOST, (project_id,)).fetchall():
        with app.transaction():
            _raise(app, project_id, waiting, target, status)


def _reject(app: AppContext, project_id: int, target: int, by: int) -> None:
    store = app.store
    Idea.update(store, target, status="rejected", actor=ACTOR)
    _say(store, project_id, target, f"rejected: {ref('idea', by)} is a sharper version of this idea")
    store.execute(
        "UPDATE idea_links SET acted_at = ? WHERE target_id = ? AND kind = 'supersedes'",
        (app.timestamp(), target),
    )


def _raise(app: AppContext, project_id: int, waiting: int, target: int, status: str) -> None:
    store = app.store
    new, old = ref("idea", waiting), ref("idea", target)
    body = (
        f"{new} waits for {old}, which is {status}, so it will not run.\n\n"
        f"Take {old} up again (`piloop idea ready {old}`), let {new} go on without it"
        f" (`piloop idea unlink {new} --after {old}`), or set it aside (`piloop idea park {new}`)."
    )
    _say(store, project_id, waiting, body, PRIORITY)
    store.execute(
        "UPDATE idea_links SET acted_at = ? WHERE idea_id = ? AND target_id = ? AND kind = 'after'",
        (app.timestamp(), waiting, target),
    )


def _say(store: Store, project_id: int, idea_id: int, body: str, priority: int | None = None) -> None:
    Comment.insert(
        store,
        project_id=project_id,
        target_kind="idea",
        target_id=idea_id,
        kind="note",
        body=body,
        priority=priority,
        actor=ACTOR,
    )
