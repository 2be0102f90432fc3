"""Ends a campaign when [stop] or [spend] says so, and lets its agents wrap up."""

from __future__ import annotations

import msgspec

from herdr.campaign.stop import WRAP_UP, Progress, decide, limits
from herdr.config import Config
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.store.columns import ProjectChanges
from herdr.store.connection import Store
from herdr.store.queries import live_agents
from herdr.store.rows import Message, Project
from herdr.times import parse_timestamp
from herdr.trunk.scores import score_of

#: Runs with a judged candidate and no keep, settled since the last keep was judged; counted up to the limit.
BARREN = """
    SELECT count(*) FROM (SELECT 1 FROM runs r WHERE r.project_id = :project AND r.counts = 1
      AND r.settled_at > coalesce((SELECT max(judged_at) FROM candidates
                                   WHERE project_id = :project AND verdict = 'keep'), '')
      AND EXISTS (SELECT 1 FROM run_commits m JOIN candidates c ON c.id = m.candidate_id
                  WHERE m.run_id = r.id AND c.verdict IS NOT NULL)
      AND NOT EXISTS (SELECT 1 FROM candidates c WHERE c.run_id = r.id AND c.verdict = 'keep')
    LIMIT :most)
"""
TOKENS = """
    SELECT coalesce(sum(coalesce(tokens_in, 0) + coalesce(tokens_out, 0) + coalesce(tokens_cached, 0)), 0)
    FROM agents WHERE project_id = ?
"""
RUNS = "SELECT count(*) FROM runs WHERE project_id = ? AND counts = 1 AND settled_at IS NOT NULL"


class Stopping:
    """Looks at a project's limits. It remembers only the newest event it saw, which spares counting again."""

    def __init__(self, app: AppContext) -> None:
        self._app = app
        self._looked: dict[int, tuple[int, Progress, float | None]] = {}

    def reconcile(self, fleet: Fleet) -> None:
        """Stop the project if a limit is reached, or let it go on if none is configured any more that was."""
        project = self._app.project(fleet.project_id)
        config = fleet.config
        if project.stopped_by == "[]" and config.stop == type(config.stop)() and config.spend is None:
            return
        progress = self._progress(fleet, project)
        known = limits(config.stop, config.spend, config.primary.direction, progress)
        passed = msgspec.json.decode(project.stopped_by, type=tuple[str, ...])
        decision = decide(known, passed, state=project.state)
        values: ProjectChanges = {}
        if decision.passed != passed:
            values["stopped_by"] = msgspec.json.encode(decision.passed).decode()
        if decision.state is not None:
            values["state"], values["state_reason"] = decision.state, decision.reason or None
            values["stopped_at"] = self._app.timestamp()
        if values:
            with self._app.transaction() as store:
                Project.update(store, project.id, **values, actor=ACTOR)
                if decision.state == "stopped":
                    _tell_agents(store, project.id, decision.reason)

    def _progress(self, fleet: Fleet, project: Project) -> Progress:
        newest = self._app.store.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()[0]
        known = self._looked.get(project.id)
        if known is None or known[0] != newest:
            first = "SELECT queued_at FROM runs WHERE project_id = ? ORDER BY id LIMIT 1"
            row = self._app.store.execute(first, (project.id,)).fetchone()
            begin = parse_timestamp(row[0]).timestamp() if row else None
            progress = progress_of(self._app.store, project, fleet.config)
            known = self._looked[project.id] = (newest, progress, begin)
        begin = known[2]
        hours = (self._app.now().timestamp() - begin) / 3600 if begin is not None else 0.0
        return msgspec.structs.replace(known[1], hours=hours, spent=project.spent)


def progress_of(store: Store, project: Project, config: Config) -> Progress:
    """How far a project is, but for the time; what has no limit is not counted.

    Args:
        store: the store.
        project: the project's row.
        config: its configuration in force; what only a limit that is not set would ask is not counted.
    """
    stop = config.stop
    score = score_of(store, project, project.head_id) if project.head_id is not None else None
    return Progress(
        value=score.values.get(config.primary.name) if score is not None and score.error is None else None,
        runs=store.execute(RUNS, (project.id,)).fetchone()[0] if stop.max_runs else 0,
        tokens=store.execute(TOKENS, (project.id,)).fetchone()[0] if stop.max_tokens else 0,
        barren=store.execute(BARREN, {"project": project.id, "most": stop.plateau or 0}).fetchone()[0],
        spent=project.spent,
    )


def _tell_agents(store: Store, project_id: int, reason: str) -> None:
    """One line to every agent that is at work, in the transaction that stops the campaign."""
    minutes = f"{WRAP_UP / 60:.0f} minutes"
    body = f"[piloop] The campaign stops: {reason}. Commit what you have and leave your finding within {minutes}."
    for agent in live_agents(store, project_id):
        Message.insert(store, agent_id=agent.id, kind="wrap_up", body=body, actor=ACTOR)
