"""What a campaign shows at one moment, read through the same operations as the commands of `piloop`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from herdr.ops.client import Client

FINAL = ("done", "parked", "rejected")
#: More events than any moment of the demo has.
MANY = 1000

View = dict[str, Any]


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a campaign; `events` are those since the look before."""

    standing: View
    ideas: Sequence[View]
    runs: Sequence[View]
    candidates: Sequence[View]
    findings: Sequence[View]
    events: Sequence[View]

    @property
    def over(self) -> bool:
        """Whether nothing more will happen: every idea is done or parked, or waits for one that was parked."""
        statuses = {idea["ref"]: idea["status"] for idea in self.ideas}
        dead = {ref for ref, status in statuses.items() if status in FINAL and status != "done"}
        for idea in self.ideas:
            # An idea is filed after those that it waits for, so one pass in their order is enough.
            if idea["status"] == "ready" and dead.intersection(idea["blocked_by"]):
                dead.add(idea["ref"])
        return all(status in FINAL or ref in dead for ref, status in statuses.items())

    @property
    def head(self) -> View:
        """The head with its gain."""
        head: View = self.standing["head"]
        return head

    def run(self, ref: str | None) -> View | None:
        """A run by its name."""
        return next((run for run in self.runs if run["ref"] == ref), None)

    def runs_of(self, idea: str) -> list[View]:
        """The runs of an idea, oldest first."""
        return [run for run in self.runs if run["idea"] == idea]

    def candidate(self, ref: str | None) -> View | None:
        """A candidate by its name."""
        return next((candidate for candidate in self.candidates if candidate["ref"] == ref), None)

    def finding(self, ref: str | None) -> View | None:
        """A finding by its name."""
        return next((finding for finding in self.findings if finding["ref"] == ref), None)

    def candidates_of(self, idea: str) -> list[View]:
        """What an idea's runs made, the merges of it onto the head included."""
        runs = {run["ref"] for run in self.runs_of(idea)}
        return [candidate for candidate in self.candidates if candidate["run"] in runs]

    def live_agent(self, idea: str) -> View | None:
        """The agent that tries an idea now."""
        live = (one["agent"] for one in self.standing["agents"] if one["idea"] == idea)
        agent: View | None = next(live, None)
        return agent


def look(client: Client, after: int) -> Scene:
    """Look at the only campaign of the home.

    Args:
        client: how operations are asked for.
        after: the id of the last event that was seen.
    """
    # First of all: what happens during the look is seen again at the next one, and nothing is missed.
    events = client.call("event.list", after=after, limit=MANY)
    ideas = client.call("idea.list", limit=MANY)["ideas"]
    return Scene(
        standing=client.call("project.status")[0],
        ideas=sorted(ideas, key=lambda idea: int(idea["ref"].partition("#")[2])),
        runs=client.call("run.list", limit=MANY)[::-1],
        candidates=client.call("candidate.list", limit=MANY)["candidates"],
        findings=client.call("comment.list", kind=["finding"], limit=MANY),
        events=events,
    )
