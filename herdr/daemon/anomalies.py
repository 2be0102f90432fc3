"""What the watchdog is told of: written down once where it is found, so nothing has to look for it."""

from __future__ import annotations

import os

from herdr.contract.words import AnomalyKind
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.repo.isolated import Isolated
from herdr.store.connection import Store
from herdr.store.rows import Agent, fetch
from herdr.times import timestamp_at


def report(
    store: Store, project_id: int, kind: AnomalyKind, target: tuple[str, int], detail: str, *, incident: bool
) -> None:
    """Write an anomaly down; the same one again changes nothing.

    Args:
        store: inside a transaction, the one of the change that is the anomaly where there is one.
        project_id: whose it is.
        kind: what it is.
        target: what it is about, such as `("run", 7)`.
        detail: the same for a person, in one line.
        incident: whether it asks for a sweep of its own at once.
    """
    store.execute(
        "INSERT INTO anomalies (project_id, kind, target_kind, target_id, detail, incident, actor)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (project_id, kind, *target, detail, incident, ACTOR),
    )


# --- silence ---------------------------------------------------------------------------------------------------

#: A worker that has said and committed nothing for so many seconds is worth a look.
SILENCE = 3600.0


async def note_silence(app: AppContext, fleet: Fleet) -> None:
    """Report the workers that have been silent for too long, each once for each agent."""
    since = app.now().timestamp() - SILENCE
    quiet = fetch(
        app.store,
        Agent,
        "WHERE project_id = ? AND state <> 'ended' AND role = 'worker' AND started_at < ?"
        " AND NOT EXISTS (SELECT 1 FROM comments c WHERE c.actor = 'worker#' || agents.id AND c.created_at > ?)"
        " AND NOT EXISTS (SELECT 1 FROM anomalies n WHERE n.project_id = agents.project_id"
        " AND n.kind = 'silent_agent' AND n.target_kind = 'agent' AND n.target_id = agents.id)",
        fleet.project_id,
        timestamp_at(since),
        timestamp_at(since),
    )
    for agent in quiet:
        if agent.run_id is not None and _last_move(app, fleet, agent.run_id) > since:
            continue
        detail = f"{agent.name} has neither said nor committed anything for {SILENCE / 60:.0f} minutes"
        with app.transaction() as store:
            report(store, fleet.project_id, "silent_agent", ("agent", agent.id), detail, incident=True)


def _last_move(app: AppContext, fleet: Fleet, run_id: int) -> float:
    """When HEAD of a run's repository last moved, in seconds since the epoch; 0 when it never did."""
    log = (
        Isolated(repository=app.home.repositories(fleet.root) / f"run-{run_id}.git", worktree=fleet.root).admin
        / "logs/HEAD"
    )
    try:
        return os.lstat(log).st_mtime
    except OSError:
        return 0.0
