"""The queue of theses: what can be claimed, what fills a place, and what may be added."""

from __future__ import annotations

import math
import re

from herdr_polyresearch.protocol.model import State, Thesis
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.threads import Issue


def claimable(state: State) -> tuple[Thesis, ...]:
    """Return the open theses that are approved and that nobody works on, by number."""
    return tuple(t for t in state.theses if t.open and t.phase == "approved")


def queue_depth(state: State, program: Program) -> int:
    """Count the theses in the queue; those that wait for the maintainer count when it is asked for.

    Args:
        state: what the comments add up to.
        program: PROGRAM.md's parameters.
    """
    waiting = 0 if program.auto_approve else sum(t.awaiting_maintainer for t in state.theses)
    return len(claimable(state)) + waiting


def room(state: State, program: Program) -> int:
    """Count the theses that bring the queue back to `min_queue_depth` without going over `max_queue_depth`.

    Args:
        state: what the comments add up to.
        program: PROGRAM.md's parameters.
    """
    limit = program.min_queue_depth
    if program.max_queue_depth is not None:
        limit = min(limit, program.max_queue_depth)
    return max(0, limit - queue_depth(state, program))


def claim_refusal(thesis: Thesis | None, number: int) -> str | None:
    """Say why a thesis cannot be claimed; None when it can.

    A thesis whose expired claim was not released passes: `Thesis.holder` says who must release it, or the lead
    for them, before a new claim counts for every reader.

    Args:
        thesis: what is to be claimed; None when there is none.
        number: its number, for the message.
    """
    if thesis is None:
        return f"thesis #{number} not found"
    if not thesis.open:
        return f"thesis #{number} is not open"
    if not thesis.approved:
        return f"thesis #{number} is not approved yet"
    if thesis.phase != "approved":
        held = f" by {thesis.active_claims[0].node}" if thesis.active_claims else ""
        return f"thesis #{number} is not claimable: it is {thesis.outcome or thesis.phase}{held}"
    return None


def open_to(state: State, node: str) -> tuple[Thesis, ...]:
    """Return what a node can claim at once and has not given up itself, by number.

    Args:
        state: what the comments add up to.
        node: the id of the node.
    """
    return tuple(
        t for t in claimable(state) if t.holder is None and all(release.node != node for release in t.releases)
    )


def duplicate(title: str, theses: tuple[Thesis, ...]) -> Issue | None:
    """Return the thesis, open or closed, that has the same words in its title; None when there is none.

    Case and punctuation make no difference. Whether two theses mean the same in other words is for whoever
    writes them to judge.

    Args:
        title: the new one's.
        theses: those that are there.
    """
    words = _words(title)
    return next((t.issue for t in theses if words and _words(t.issue.title) == words), None)


def best_metric(state: State, program: Program) -> float | None:
    """Return the best metric that an accepted attempt reported, as `status` shows it.

    Args:
        state: what the comments add up to.
        program: it says which metric is better.
    """
    reported = []
    for thesis in state.theses:
        accepted = next((c for c in thesis.candidates if c.decision and c.decision.outcome == "accepted"), None)
        branch = accepted.pull.head_ref if accepted else None
        reported += [a.metric for a in thesis.attempts if a.branch == branch and math.isfinite(a.metric)]
    best = max if program.metric_direction == "higher_is_better" else min
    return best(reported, default=None)


def at_floor(state: State, program: Program) -> bool:
    """Whether the best metric is so close to zero that the tolerance hides any further gain.

    Args:
        state: what the comments add up to.
        program: it has the tolerance.
    """
    best = best_metric(state, program)
    tolerance = program.metric_tolerance
    lower = program.metric_direction == "lower_is_better"
    return lower and best is not None and tolerance is not None and best < tolerance


def _words(title: str) -> list[str]:
    return re.findall(r"[^\W_]+", title.casefold())
