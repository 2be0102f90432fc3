"""Agents: listed, and cancelled."""

from __future__ import annotations

from typing import Annotated

import msgspec

from herdr.campaign.text import ref
from herdr.contract.harness import AgentState
from herdr.errors import RefusedError
from herdr.ops.core import PEOPLE, Context, Request, operation, project_of
from herdr.ops.look import look_agent
from herdr.ops.views import AgentView, agent_view
from herdr.ops.why import note, reason_of
from herdr.store.rows import Agent, Run, Sweep, emit, fetch, get


class AgentCancelled(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that will be ended, and the run or sweep that ends with it."""

    ref: str
    state: AgentState
    work: str


class ListAgents(Request[list[AgentView]], frozen=True, kw_only=True):
    """Which agents to list: the newest of a project; without `ended`, those that live."""

    operation = "agent.list"
    project: str | None = None
    ended: bool = False
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 100


class CancelAgent(Request[AgentCancelled], frozen=True, kw_only=True):
    """One agent to end, and why."""

    operation = "agent.cancel"
    agent: str
    reason: str | None = None


@operation(ListAgents)
def list_agents(context: Context, request: ListAgents) -> list[AgentView]:
    """List agents, the newest first."""
    project = project_of(context, request.project)
    which = "" if request.ended else " AND state <> 'ended'"
    found = fetch(
        context.conn, Agent, f"WHERE project_id = ?{which} ORDER BY id DESC LIMIT ?", project.id, request.limit
    )
    return [agent_view(agent) for agent in found]


@operation(CancelAgent, who=PEOPLE, writes=True)
def cancel(context: Context, request: CancelAgent) -> AgentCancelled:
    """Have the daemon end an agent, and its run or sweep with it; what it has committed is still scored.

    Raises:
        RefusedError: it has ended already.
    """
    agent = look_agent(context, request.agent)
    if agent.state == "ended":
        raise RefusedError(f"{agent.name} has ended already", fix="piloop agent list shows those that live")
    if agent.run_id is not None:
        work = request_cancel(context, Run, agent.run_id, reason_of(request.reason))
    else:
        assert agent.sweep_id is not None
        work = request_cancel(context, Sweep, agent.sweep_id, reason_of(request.reason))
    return AgentCancelled(ref=agent.name, state=agent.state, work=work)


def request_cancel(context: Context, kind: type[Run] | type[Sweep], number: int, reason: str | None) -> str:
    """Have the daemon cancel a run or a sweep, and return its name; asking again changes nothing.

    Args:
        context: who asks.
        kind: whether it is a run or a sweep.
        number: its id.
        reason: why, for the event and the run's comments; None when nobody said.
    """
    work = get(context.conn, kind, number)
    word = kind.table.removesuffix("s")
    if not work.cancel_requested:
        kind.update(context.conn, number, cancel_requested=True, actor=context.actor)
        emit(
            context.conn,
            "run.cancel_requested" if word == "run" else "sweep.cancel_requested",
            context.actor,
            project_id=work.project_id,
            target=(word, number),
            payload={"reason": reason},
        )
        if reason is not None and word == "run":
            note(context, ("run", number), work.project_id, f"cancelled: {reason}", decides=True)
    return ref(word, number)
