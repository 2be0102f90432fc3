"""Rows as the structs that plugins see."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from herdr.contract.facts import (
    AgentInfo,
    CandidateInfo,
    CommentInfo,
    Escalation,
    IdeaInfo,
    MeasurementInfo,
    ProjectInfo,
    RunInfo,
)
from herdr.store.rows import Agent, Candidate, Comment, Idea, Measurement, Project, Run


def project_info(project: Project, settings: Mapping[str, Any]) -> ProjectInfo:
    """A project with the whole `[plugins]` table; the host leaves each plugin only its own part of it.

    Args:
        project: its row.
        settings: the whole table `[plugins]` of its configuration.
    """
    return ProjectInfo(id=project.id, name=project.name, path=Path(project.path), settings=settings)


def idea_info(idea: Idea) -> IdeaInfo:
    """An idea; its key is the one that a plugin gave it."""
    return IdeaInfo(
        id=idea.id,
        project_id=idea.project_id,
        title=idea.title,
        hypothesis=idea.hypothesis,
        plan=idea.plan,
        status=idea.status,
        priority=idea.priority,
        source=idea.source,
        family=idea.family,
        key=idea.outside_key,
    )


def run_info(run: Run) -> RunInfo:
    """A run, with its typed end once it has one."""
    return RunInfo(
        id=run.id,
        project_id=run.project_id,
        idea_id=run.idea_id,
        number=run.number,
        state=run.state,
        harness=run.harness,
        model=run.model,
        branch=run.branch,
        worktree=Path(run.worktree) if run.worktree else None,
        end=run.end_cause,
        end_detail=run.end_detail,
    )


def agent_info(agent: Agent) -> AgentInfo:
    """An agent; nothing of its token or its pane."""
    return AgentInfo(
        id=agent.id,
        name=agent.name,
        project_id=agent.project_id,
        run_id=agent.run_id,
        role=agent.role,
        harness=agent.harness,
        state=agent.state,
        cause=agent.cause,
        started_at=agent.started_at,
        ended_at=agent.ended_at,
    )


def candidate_info(candidate: Candidate) -> CandidateInfo:
    """A candidate with its verdict, if it has one."""
    return CandidateInfo(
        id=candidate.id,
        project_id=candidate.project_id,
        run_id=candidate.run_id,
        commit=candidate.commit_sha,
        tree=candidate.tree_sha,
        subject=candidate.subject,
        origin=candidate.origin,
        verdict=candidate.verdict,
        reason=candidate.reason,
    )


def measurement_info(measurement: Measurement) -> MeasurementInfo:
    """A scoring that is done."""
    return MeasurementInfo(
        id=measurement.id,
        candidate_id=measurement.candidate_id,
        evaluator_id=measurement.evaluator_id,
        metrics=measurement.values,
        error=measurement.error,
        seconds=measurement.seconds,
    )


def comment_info(comment: Comment) -> CommentInfo:
    """A comment; its target is written as everywhere, `idea#12`."""
    return CommentInfo(
        id=comment.id,
        target=f"{comment.target_kind}#{comment.target_id}",
        kind=comment.kind,
        author=comment.actor,
        body=comment.body,
        created_at=comment.created_at,
    )


def escalation(comment: Comment) -> Escalation:
    """A comment of the kind escalation; the schema gives each of them a priority."""
    assert comment.priority is not None
    return Escalation(
        id=comment.id,
        project_id=comment.project_id,
        target=f"{comment.target_kind}#{comment.target_id}",
        body=comment.body,
        priority=comment.priority,
    )
