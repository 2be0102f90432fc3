"""Holds a project's launches up after failed starts, says so once to a person, and lets them go on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import anyio.to_thread

from herdr.campaign.circuit_breaker import FAILED_STARTS, WINDOW
from herdr.campaign.text import first_line
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.launch_block import open_until
from herdr.errors import HerdrError
from herdr.store.rows import Agent, Comment, Project, fetch
from herdr.times import timestamp_at

PRIORITY = 1
#: Causes on the side of the model's provider, which pass by themselves: a person can only wait.
PASSING_CAUSES = frozenset({"rate_limited", "overloaded", "unreachable", "quota"})


async def reconcile_circuit_breaker(app: AppContext, fleet: Fleet) -> None:
    """Note that a project's launches are held up, with one escalation, or that they go on."""
    project = app.project(fleet.project_id)
    until = open_until(app, project)
    if until is not None and project.held_since is None:
        failed = _latest(app, project)
        fix = await anyio.to_thread.run_sync(_fix, fleet, failed[0])
        with app.transaction() as store:
            Project.update(store, project.id, held_since=app.timestamp(), actor=ACTOR)
            Comment.insert(
                store,
                project_id=project.id,
                target_kind="project",
                target_id=project.id,
                kind="escalation",
                priority=PRIORITY,
                body=escalation(project.name, failed, fix, timestamp_at(until)),
                actor=ACTOR,
            )
    elif until is None and project.held_since is not None:
        with app.transaction() as store:
            Project.update(store, project.id, held_since=None, actor=ACTOR)


def _latest(app: AppContext, project: Project) -> list[Agent]:
    """The failed starts that hold it up, the newest first."""
    since = timestamp_at(app.now().timestamp() - WINDOW)
    which = "WHERE project_id = ? AND failed_start = 1 AND ended_at > ? ORDER BY ended_at DESC LIMIT ?"
    return fetch(app.store, Agent, which, project.id, since, FAILED_STARTS)


def escalation(project: str, failed: Sequence[Agent], fix: str, until: str) -> str:
    """What a person is told: the cause, the evidence, and the command that fixes it.

    Args:
        project: its name.
        failed: the agents that failed to start, the newest first.
        fix: the command, or what to do in one sentence.
        until: when launching goes on by itself.
    """
    counted = Counter((agent.harness, agent.cause or "unknown") for agent in failed)
    causes = ", ".join(f"{harness}: {cause}" for (harness, cause), _ in counted.most_common())
    evidence = "\n".join(f"- {_evidence(agent)}" for agent in failed)
    return (
        f"No agent is launched for {project}: {len(failed)} starts failed within {WINDOW / 60:.0f} minutes"
        f" ({causes}).\n\n{evidence}\n\nFix: {fix}\nThen: piloop resume {project}"
        f" (by itself launching goes on at {until})."
    )


def _evidence(agent: Agent) -> str:
    said = first_line(agent.cause_detail or agent.last_line or "it ended and said nothing")
    return f"{agent.name}, {agent.harness}, {agent.ended_at}: {said} (last screen: herdr logs {agent.name})"


def _fix(fleet: Fleet, agent: Agent) -> str:
    """The one thing to do about a failed start; looks for the harness's program."""
    try:
        status = fleet.harnesses.check(agent.harness, os.environ)
    except HerdrError as error:
        return error.fix or error.message
    if status.fix:
        return status.fix
    if agent.cause in PASSING_CAUSES:
        return f"wait, or take {agent.harness} out of `harnesses` in piloop.toml"
    return f"herdr logs {agent.name}"
