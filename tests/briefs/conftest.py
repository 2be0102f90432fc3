"""`make_context(title="…")` gives the context of an ordinary run, with whatever a test wants to be different."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from herdr.api import BriefContext, CandidateInfo, CommentInfo, IdeaInfo, ProjectInfo, RunInfo

IDEA_FIELDS = ("title", "hypothesis", "plan", "source")


def candidate(number: int, **fields: Any) -> CandidateInfo:
    plain = CandidateInfo(
        id=number,
        project_id=1,
        run_id=number,
        commit=f"{number:040x}",
        tree="0" * 40,
        subject=f"subject {number}",
        origin="run",
        verdict="keep",
        reason=f"reason {number}",
    )
    return msgspec.structs.replace(plain, **fields)


def comment(number: int, body: str, **fields: Any) -> CommentInfo:
    plain = CommentInfo(
        id=number,
        target="idea#3",
        kind="note",
        author="human",
        body=body,
        created_at="2026-01-02T03:04:05Z",
    )
    return msgspec.structs.replace(plain, **fields)


@pytest.fixture
def make_candidate() -> Callable[..., CandidateInfo]:
    return candidate


@pytest.fixture
def make_comment() -> Callable[..., CommentInfo]:
    return comment


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project without templates of its own."""
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="session")
def make_context(project: Path) -> Callable[..., BriefContext]:
    def make(path: Path = project, **fields: Any) -> BriefContext:
        idea = IdeaInfo(
            id=3,
            project_id=1,
            title="Shorter tours by 2-opt",
            hypothesis="Crossing edges are what makes the tour long",
            plan="Swap pairs until none helps",
            status="scheduled",
            priority=2,
            source="research#4",
        )
        changed = {name: fields.pop(name) for name in IDEA_FIELDS if name in fields}
        run = RunInfo(
            id=7,
            project_id=1,
            idea_id=3,
            number=2,
            state="running",
            harness="command",
            model=None,
            branch="piloop/tours/run-7",
            worktree=path / ".worktrees/run-7",
        )
        plain = BriefContext(
            project=ProjectInfo(id=1, name="tours", path=path),
            agent="worker#12",
            role="worker",
            run=run,
            idea=msgspec.structs.replace(idea, **changed),
            worktree=path / ".worktrees/run-7",
            workspace=path / "workspace",
            base=candidate(1, run_id=None, subject="the baseline", origin="baseline"),
            base_metrics={"length": 8123.4, "seconds": 1.25},
            bar=candidate(1),
            metrics=[("length", "lower", "primary"), ("seconds", "lower", "watch")],
            recent=[
                (candidate(30, reason="beats the bar"), {"length": 8000.5}),
                (candidate(29, verdict=None), {}),
            ],
            comments=[comment(16, "tried k=4"), comment(17, "use k=8", kind="decision")],
            protected=["evaluate.py", "data/"],
            repo_brief="Only tour/ matters.",
            addendum="Workers use one core.",
            timeout=1800.0,
        )
        return msgspec.structs.replace(plain, **fields)

    return make
