"""What a campaign shows at one moment, read through the same operations as the commands of `piloop`."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from herdr.contract.words import IdeaStatus
from herdr.ops.candidate.reading import ListCandidates
from herdr.ops.client import Client
from herdr.ops.comment import ListComments
from herdr.ops.event import ListEvents
from herdr.ops.idea.reading import ListIdeas
from herdr.ops.project import ShowStatus
from herdr.ops.run import ListRuns
from herdr.ops.status_snapshot import Head, StatusSnapshot
from herdr.ops.views import AgentView, CandidateView, CommentView, EventView, IdeaView, RunView

FINAL: tuple[IdeaStatus, ...] = ("done", "parked", "rejected")
#: More events than any moment of the demo has.
MANY = 1000


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One look at a campaign; `events` are those since the look before."""

    status: StatusSnapshot
    ideas: Sequence[IdeaView]
    runs: Sequence[RunView]
    candidates: Sequence[CandidateView]
    findings: Sequence[CommentView]
    events: Sequence[EventView]

    @property
    def over(self) -> bool:
        """Whether nothing more will happen: every idea is done or parked, or waits for one that was parked."""
        statuses = {idea.ref: idea.status for idea in self.ideas}
        dead = {ref for ref, status in statuses.items() if status in FINAL and status != "done"}
        for idea in self.ideas:
            # An idea is filed after those that it waits for, so one pass in their order is enough.
            if idea.status == "ready" and dead.intersection(idea.blocked_by):
                dead.add(idea.ref)
        return all(status in FINAL or ref in dead for ref, status in statuses.items())

    @property
    def head(self) -> Head:
        """The head with its gain; there is one, because the demo sets its project up before it looks."""
        assert self.status.head is not None
        return self.status.head

    def run(self, ref: str | None) -> RunView | None:
        """A run by its name."""
        return next((run for run in self.runs if run.ref == ref), None)

    def runs_of(self, idea: str) -> list[RunView]:
        """The runs of an idea, oldest first."""
        return [run for run in self.runs if run.idea == idea]

    def candidate(self, ref: str | None) -> CandidateView | None:
        """A candidate by its name."""
        return next((candidate for candidate in self.candidates if candidate.ref == ref), None)

    def finding(self, ref: str | None) -> CommentView | None:
        """A finding by its name."""
        return next((finding for finding in self.findings if finding.ref == ref), None)

    def candidates_of(self, idea: str) -> list[CandidateView]:
        """What an idea's runs made, the merges of it onto the head included."""
        runs = {run.ref for run in self.runs_of(idea)}
        return [candidate for candidate in self.candidates if candidate.run in runs]

    def agent_at_work(self, idea: str) -> AgentView | None:
        """The agent that tries an idea now."""
        return next((one.agent for one in self.status.agents if one.idea == idea), None)


def look(client: Client, after: int) -> Scene:
    """Look at the only campaign of the home.

    Args:
        client: how operations are asked for.
        after: the id of the last event that was seen.
    """
    # First of all: what happens during the look is seen again at the next one, and nothing is missed.
    events = client.ask(ListEvents(after=after, limit=MANY))
    ideas = client.ask(ListIdeas(limit=MANY)).ideas
    findings = client.ask(ListComments(kind=("finding",), limit=MANY))
    return Scene(
        status=client.ask(ShowStatus())[0],
        ideas=sorted(ideas, key=lambda idea: int(idea.ref.partition("#")[2])),
        runs=client.ask(ListRuns(limit=MANY))[::-1],
        candidates=client.ask(ListCandidates(limit=MANY)).candidates,
        findings=findings,
        events=events,
    )
