"""What is done about an agent at work: when it is stuck, when it has done its work, when its time is over."""

from __future__ import annotations

from typing import Literal

from herdr.campaign.stop import WRAP_UP
from herdr.contract.harness import AgentState

#: Seconds that an agent may wait at a dialog, or stand at a failed turn, before it is ended.
BLOCKED_LIMIT, FAILED_LIMIT = 600.0, 60.0
#: Seconds that a finished turn's screen must stand still, with nothing running, to be the end of an agent.
STILL = 5.0
#: One part in so many of its time is left when an agent is told to come to an end.
WARNED_AT = 10


def stuck(state: AgentState, still: float) -> Literal["blocked", "failed"] | None:
    """Whether an agent is given up: for a dialog that nobody answers, or a failed turn that nothing follows.

    Args:
        state: what its screen shows.
        still: for how many seconds it has shown that.
    """
    if state == "blocked" and still > BLOCKED_LIMIT:
        return "blocked"
    if state == "failed_turn" and still > FAILED_LIMIT:
        return "failed"
    return None


def at_rest(state: AgentState, still: float, *, worked: bool, briefed: bool, waiting: bool) -> bool:
    """Whether an agent that goes on waiting for input has done its work, if nothing of it runs any more.

    Args:
        state: what its screen shows.
        still: for how many seconds it has shown that.
        worked: whether it has been seen at work.
        briefed: whether its brief has arrived.
        waiting: whether a text is on its way to it.
    """
    return state == "idle" and still >= STILL and worked and briefed and not waiting


def time_is_up(left: float) -> bool:
    """Whether an agent with so many seconds left has to be ended."""
    return left <= 0


def is_to_be_warned(left: float, timeout: float, *, warned: bool) -> bool:
    """Whether an agent is to be told that its time is nearly over, which it is told once.

    Args:
        left: how many seconds it has.
        timeout: how many it had.
        warned: whether it was told.
    """
    return not warned and left <= warning_at(timeout)


def warning_at(timeout: float) -> float:
    """How many seconds an agent has left when it is warned, of so many that it had."""
    return timeout / WARNED_AT


def last_call(stopped: float | None, launched: float) -> float | None:
    """When an agent that was at work as the campaign stopped is ended; None for any other.

    One that was launched since then looks back on the campaign, and has its own time.

    Args:
        stopped: when the campaign stopped; None while it has not.
        launched: when the agent was launched.
    """
    if stopped is None or launched > stopped:
        return None
    return stopped + WRAP_UP
