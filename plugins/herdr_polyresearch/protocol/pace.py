"""Pace: what a node did of late, and how far the forge's quota reaches."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec

from herdr_polyresearch.protocol.model import State
from herdr_polyresearch.protocol.queue import claimable

QUOTA_SHORT = 75
"""What `pace` exits with when not one more command fits into the quota."""


class Throughput(msgspec.Struct, frozen=True, kw_only=True):
    """What one node did, by the comment trail; `idle_minutes` is None when it never did anything."""

    active_claims: int
    attempts_last_hour: int
    attempts_last_4_hours: int
    idle_minutes: int | None
    claimable_theses: int


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """How many commands the remaining requests are enough for, at the cost of a read issue by issue."""

    derive_cost: int
    commands_left: int
    is_low: bool
    exit_code: int


def throughput(state: State, node: str) -> Throughput:
    """Count what a node did up to the time of the state.

    Args:
        state: what the comments add up to.
        node: the id.
    """
    attempts = [a.created_at for t in state.theses for a in t.attempts if a.node == node]
    latest = max(_activity(state, node), default=None)
    return Throughput(
        active_claims=sum(c.node == node for t in state.theses for c in t.active_claims),
        attempts_last_hour=sum(at >= state.now - timedelta(hours=1) for at in attempts),
        attempts_last_4_hours=sum(at >= state.now - timedelta(hours=4) for at in attempts),
        idle_minutes=None if latest is None else max(0, int((state.now - latest).total_seconds() // 60)),
        claimable_theses=len(claimable(state)),
    )


def quota(issues: int, pulls: int, remaining: int) -> Quota:
    """Say how far `remaining` requests reach, counted as the existing tool counts.

    Args:
        issues: how many theses there are.
        pulls: how many pull requests there are, whoever's they are.
        remaining: requests left until the limit starts anew.
    """
    cost = 2 + issues + pulls
    return Quota(
        derive_cost=cost,
        commands_left=remaining // cost,
        is_low=remaining < 2 * cost,
        exit_code=QUOTA_SHORT if remaining < cost else 0,
    )


def _activity(state: State, node: str) -> Iterator[datetime]:
    for thesis in state.theses:
        yield from (c.created_at for c in thesis.active_claims if c.node == node)
        yield from (r.created_at for r in thesis.releases if r.node == node)
        yield from (a.created_at for a in thesis.attempts if a.node == node)
    for candidate in state.candidates:
        yield from (c.created_at for c in candidate.review_claims if c.node == node)
        yield from (r.created_at for r in candidate.reviews if r.node == node)
