"""Holds a project's launches up after failed starts, says so once to a person, and lets them go on."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import anyio.to_thread

from herdr.campaign.circuit_breaker import FAILED_STARTS, OF_THE_HARNESS, OF_THE_PROJECT, WINDOW
from herdr.campaign.text import first_line
from herdr.contract.harness import Cause
from herdr.daemon.app_context import ACTOR, AppContext, Fleet
from herdr.daemon.launch_block import held_harnesses, open_until
from herdr.errors import HerdrError
from herdr.store.connection import Store
from herdr.store.rows import Agent, Comment, Project, fetch, find
from herdr.times import timestamp_at

PRIORITY = 1
#: Causes on the side of the model's provider, which pass by themselves: a person can only wait.
PASSING_CAUSES = frozenset({"rate_limited", "overloaded", "unreachable", "quota"})


async def reconcile_circuit_breaker(app: AppContext, fleet: Fleet) -> None:
    """Note that launches of a project, or of one harness of it, are held up, with one escalation, or go on.

    Args:
        app: the daemon.
        fleet: the project.
    """
    project = app.project(fleet.project_id)
    for harness, till in held_harnesses(app, project).items():
        await _tell_of_harness(app, fleet, project, harness, till)
    until = open_until(app, project)
    if until is not None and project.held_since is None:
        failed = _latest(app, project, OF_THE_PROJECT)
        fix = await anyio.to_thread.run_sync(_fix, fleet, failed[0])
        with app.transaction() as store:
            Project.update(store, project.id, held_since=app.timestamp(), actor=ACTOR)
            _escalate(store, project, escalation(project.name, failed, fix, timestamp_at(until)))
    elif until is None and project.held_since is not None:
        with app.transaction() as store:
            Project.update(store, project.id, held_since=None, actor=ACTOR)


async def _tell_of_harness(app: AppContext, fleet: Fleet, project: Project, harness: str, until: float) -> None:
    """One escalation for each time that a harness is held up: its three failed starts tell the times apart."""
    held = f"{project.name} on {harness}"
    said = "WHERE project_id = ? AND kind = 'escalation' AND actor = ? AND created_at > ? AND instr(body, ?)"
    since = timestamp_at(until - WINDOW)
    if find(app.store, Comment, said, project.id, ACTOR, since, f" for {held}: ") is not None:
        return
    failed = _latest(app, project, OF_THE_HARNESS, harness)
    fix = await anyio.to_thread.run_sync(_fix, fleet, failed[0])
    with app.transaction() as store:
        _escalate(store, project, escalation(held, failed, fix, timestamp_at(until), resume=project.name))


def _escalate(store: Store, project: Project, body: str) -> None:
    Comment.insert(
        store,
        project_id=project.id,
        target_kind="project",
        target_id=project.id,
        kind="escalation",
        priority=PRIORITY,
        body=body,
        actor=ACTOR,
    )


def _latest(
    app: AppContext, project: Project, causes: AbstractSet[Cause], harness: str | None = None
) -> list[Agent]:
    """The failed starts that hold it up, the newest first."""
    since = timestamp_at(app.now().timestamp() - WINDOW)
    which = (
        "WHERE project_id = ? AND failed_start = 1 AND ended_at > ? AND harness = coalesce(?, harness)"
        " AND coalesce(cause, 'unknown') IN (SELECT value FROM json_each(?)) ORDER BY ended_at DESC LIMIT ?"
    )
    among = json.dumps(sorted(causes))
    return fetch(app.store, Agent, which, project.id, since, harness, among, FAILED_STARTS)


def escalation(held: str, failed: Sequence[Agent], fix: str, until: str, *, resume: str = "") -> str:
    """What a person is told: the cause, the evidence, and the command that fixes it.

    Args:
        held: the name of the project, with the harness when only that is held up.
        failed: the agents that failed to start, the newest first.
        fix: the command, or what to do in one sentence.
        until: when launching goes on by itself.
        resume: the name of the project, where `held` says more.
    """
    counted = Counter((agent.harness, agent.cause or "unknown") for agent in failed)
    causes = ", ".join(f"{harness}: {cause}" for (harness, cause), _ in counted.most_common())
    evidence = "\n".join(f"- {_evidence(agent)}" for agent in failed)
    return (
        f"No agent is launched for {held}: {len(failed)} starts failed within {WINDOW / 60:.0f} minutes"
        f" ({causes}).\n\n{evidence}\n\nFix: {fix}\nThen: piloop resume {resume or held}"
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
