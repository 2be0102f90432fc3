"""What developing a seed makes of it: the hunch and what research found out become one idea."""

from __future__ import annotations

import msgspec


class Developed(msgspec.Struct, frozen=True, kw_only=True):
    """What research has to say about a hunch before anybody tries it (`docs/ideas-seeds-runs.md`, "Seeds")."""

    hypothesis: str
    evidence: str
    check: str
    metric: str
    effect: str


def hypothesis_of(hunch: str, found: Developed) -> str:
    """The idea's hypothesis: the new one, the hunch that it came from, and the evidence.

    Args:
        hunch: the hypothesis that the seed was filed with.
        found: what research found out about it.
    """
    return f"{found.hypothesis}\n\nThe hunch: {hunch}\n\nEvidence: {found.evidence}"


def plan_of(found: Developed, plan: str | None = None) -> str:
    """The idea's plan: the cheapest check that could kill it comes first, then what success is.

    Args:
        found: what research found out about the hunch.
        plan: what else the worker is to do, if research has more to say.
    """
    check = f"First check this, and stop if it fails: {found.check}"
    success = f"It succeeds by {found.metric}. Expected effect: {found.effect}"
    return "\n\n".join(part for part in (check, success, plan) if part)
