"""How ideas and candidates are worded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from herdr.ops.status_snapshot import Queued
    from herdr.ops.views import CandidateView, IdeaView


def waits_for(idea: IdeaView | Queued) -> str:
    """The ideas that one waits for; those that no longer run need somebody to act."""
    return ", ".join(f"{name}, which no longer runs" if name in idea.lost else name for name in idea.blocked_by)


def pinned_to(idea: IdeaView | Queued) -> str:
    """The harness and the model that an idea has to be tried with, in parentheses; "" where any will do."""
    names = " ".join(filter(None, (idea.harness, idea.model)))
    return f"  (with {names})" if names else ""


def verdict_of(candidate: CandidateView) -> str:
    """A candidate's verdict, or how far it is."""
    if candidate.verdict:
        return candidate.verdict
    if candidate.origin == "skipped":
        return "skipped"
    if candidate.origin == "imported" and candidate.scoring == "done":
        return "reference"
    return {"queued": "to score", "running": "scoring"}.get(candidate.scoring or "", "to judge")
