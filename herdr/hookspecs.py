"""Every hook of herdr: this file is the whole contract with a plugin.

Hooks are plain synchronous functions over frozen structs, called in a worker thread with a deadline; they never
touch the database. *Set-up* hooks run once, *decision* and *first result* hooks wait for an answer, *fact* hooks
are fed from the event log in order and at least once: a plugin is idempotent by `event_id`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from herdr.contract.facts import (
        AgentInfo,
        BriefContext,
        BriefSection,
        CandidateInfo,
        ClaimAnswer,
        DoctorCheck,
        Escalation,
        EvaluationRequest,
        EvaluationResult,
        IdeaInfo,
        MeasurementInfo,
        OutsideIdea,
        ProjectInfo,
        RunInfo,
    )
    from herdr.contract.harness import Harness

hookspec = pluggy.HookspecMarker("herdr")


@hookspec
def herdr_register_harnesses(register: Callable[[Harness], None]) -> None:
    """Call `register(harness)` for each coding agent that the plugin knows how to drive (set-up)."""


@hookspec
def herdr_doctor_checks(register: Callable[[DoctorCheck], None]) -> None:
    """Call `register(check)` for each thing that `herdr doctor` should look at (set-up)."""


@hookspec(firstresult=True)
def herdr_brief(context: BriefContext) -> str | None:
    """Compose the whole brief of an agent, or return None to leave it to the next plugin (first result)."""


@hookspec
def herdr_brief_sections(context: BriefContext) -> Sequence[BriefSection]:  # type: ignore[empty-body]
    """Add sections to the end of a brief (collected from every plugin)."""


@hookspec
def herdr_collect_ideas(project: ProjectInfo) -> Sequence[OutsideIdea]:  # type: ignore[empty-body]
    """Return ideas that live outside herdr, for example a forge's theses (periodic; keyed, so never doubled)."""


@hookspec
def herdr_claim(project: ProjectInfo, idea: IdeaInfo, run: RunInfo) -> ClaimAnswer | None:
    """Say whether a run may start; one refusal is enough to stop it (decision)."""


@hookspec(firstresult=True)
def herdr_evaluate(request: EvaluationRequest) -> EvaluationResult | None:
    """Score a candidate elsewhere, or return None to leave it to the lane on this machine (first result)."""


@hookspec
def herdr_agent_started(event_id: int, agent: AgentInfo) -> None:
    """An agent's process runs (fact)."""


@hookspec
def herdr_agent_ended(event_id: int, agent: AgentInfo) -> None:
    """An agent has ended; its state and cause are final (fact)."""


@hookspec
def herdr_attempt(
    event_id: int,
    run: RunInfo,
    candidate: CandidateInfo,
    measurement: MeasurementInfo | None,
    verdict: str | None,
) -> None:
    """A candidate of a run has its verdict; `measurement` is None for one that is never measured (fact)."""


@hookspec
def herdr_submit(event_id: int, run: RunInfo, candidate: CandidateInfo) -> None:
    """A candidate of a run became the head (fact)."""


@hookspec
def herdr_release(event_id: int, run: RunInfo, reason: str) -> None:
    """A run is over and nothing more comes of it; `reason` is its typed end (fact)."""


@hookspec
def herdr_escalate(event_id: int, escalation: Escalation) -> None:
    """Somebody has to look at this (fact)."""
