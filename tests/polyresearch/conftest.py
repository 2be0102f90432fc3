"""Stories: a project told event by event, as people and nodes would post them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.comments import render
from herdr_polyresearch.protocol.derive import derive
from herdr_polyresearch.protocol.model import State, Thesis
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.threads import Comment, Issue, PullRequest, Repo, Snapshot

HERE = Path(__file__).parent
START = datetime(2026, 4, 10, 9, tzinfo=timezone.utc)
SHA = "a1b2c3d"
BASE = "c0d1e2f"


class Story:
    """A repository with one thesis, #12, led by `lead`, maintained by `boss`; its events are a minute apart."""

    def __init__(self, **program: Any) -> None:
        given: dict[str, Any] = {
            "lead_github_login": "lead",
            "maintainer_github_login": "boss",
            "metric_tolerance": 0.01,
        }
        self.program = Program(**(given | program))
        self.issues: dict[int, Issue] = {}
        self.pulls: dict[int, PullRequest] = {}
        self.comments: dict[int, tuple[Comment, ...]] = {}
        self.collaborators: frozenset[str] | None = None
        self.now = START
        self._id = 0
        self.issue(12, "RMSNorm")

    def wait(self, **delta: float) -> Story:
        """Let time pass."""
        self.now += timedelta(**delta)
        return self

    def issue(self, number: int, title: str, **fields: Any) -> Story:
        """Open a thesis."""
        self.issues[number] = Issue(
            number=number, title=title, author="lead", created_at=self.now, labels=("thesis",), **fields
        )
        return self

    def say(self, author: str, said: b.Block | str, thread: int = 12) -> int:
        """Post a comment and return its id."""
        self.wait(minutes=1)
        self._id += 1
        body = said if isinstance(said, str) else render(said)
        posted = Comment(id=self._id, thread=thread, author=author, body=body, created_at=self.now)
        self.comments[thread] = (*self.comments.get(thread, ()), posted)
        return self._id

    def approved(self) -> Story:
        """Have the lead approve #12."""
        self.say("lead", b.ApprovalBlock(thesis=12))
        return self

    def claimed(self, node: str = "alice/n1") -> Story:
        """Approve #12 unless it is, and have a node claim it."""
        if 12 not in self.comments:
            self.approved()
        self.say(node.partition("/")[0], b.ClaimBlock(thesis=12, node=node))
        return self

    def release(self, node: str = "alice/n1", reason: Any = "no_improvement", by: str | None = None) -> Story:
        """Release the claim of a node."""
        author = by or node.partition("/")[0]
        self.say(author, b.ReleaseBlock(thesis=12, node=node, reason=reason))
        return self

    def attempt(self, metric: float = 1.5, baseline: float | None = 1.0, by: str = "alice", **fields: Any) -> str:
        """Record an attempt on the next branch and return that."""
        number = sum("polyresearch:attempt" in c.body for c in self.comments.get(12, ())) + 1
        given = {
            "branch": f"thesis/12-rmsnorm-attempt-{number}",
            "observation": "improved",
            "summary": "tried it",
        }
        block = b.AttemptBlock(thesis=12, metric=metric, baseline_metric=baseline, **(given | fields))
        self.say(by, block)
        return block.branch

    def pull(self, number: int = 50, branch: str = "thesis/12-rmsnorm-attempt-1", **fields: Any) -> Story:
        """Open a pull request."""
        given: dict[str, Any] = {"author": "alice", "head_sha": SHA, "base_ref": "main", "title": "t"}
        self.pulls[number] = PullRequest(number=number, created_at=self.now, head_ref=branch, **(given | fields))
        return self

    def submitted(self, metric: float = 1.5, **fields: Any) -> Story:
        """Claim #12, record an improved attempt and open #50 for it."""
        self.claimed()
        self.attempt(metric, **fields)
        return self.pull()

    def passed(self, number: int = 50, sha: str = SHA) -> Story:
        """Have the lead pass a pull request."""
        self.say("lead", b.PolicyPassBlock(thesis=12, candidate_sha=sha), number)
        return self

    def review(
        self, node: str = "bob/r", metric: float = 1.5, number: int = 50, claim: bool = True, **fields: Any
    ) -> int:
        """Claim and post a review."""
        author = node.partition("/")[0]
        if claim:
            self.say(author, b.ReviewClaimBlock(thesis=12, node=node), number)
        given: dict[str, Any] = {
            "candidate_sha": SHA,
            "base_sha": BASE,
            "baseline_metric": 1.0,
            "observation": "improved",
            "env_sha": None,
            "timestamp": "2026-04-10T14:30:00Z",
        }
        return self.say(author, b.ReviewBlock(thesis=12, node=node, metric=metric, **(given | fields)), number)

    def decided(self, outcome: Any, number: int = 50, confirmations: int = 0) -> Story:
        """Have the lead post a decision on a pull request, and close or merge it."""
        sha = self.pulls[number].head_sha
        block = b.DecisionBlock(thesis=12, candidate_sha=sha, outcome=outcome, confirmations=confirmations)
        self.say("lead", block, number)
        return self.end(number, "merged" if outcome == "accepted" else "closed")

    def end(self, number: int = 50, state: Any = "closed") -> Story:
        """Close or merge a pull request, or close an issue."""
        if number in self.pulls:
            self.pulls[number] = msgspec.structs.replace(self.pulls[number], state=state, closed_at=self.now)
        else:
            self.issues[number] = msgspec.structs.replace(self.issues[number], state="closed", closed_at=self.now)
        return self

    def push(self, sha: str, number: int = 50) -> Story:
        """Move the head of a pull request."""
        self.pulls[number] = msgspec.structs.replace(self.pulls[number], head_sha=sha)
        return self

    @property
    def snapshot(self) -> Snapshot:
        """What a forge would return now."""
        return Snapshot(
            repo=Repo(full_name="alice/lab", collaborators=self.collaborators),
            issues=tuple(self.issues.values()),
            pulls=tuple(self.pulls[number] for number in sorted(self.pulls, reverse=True)),
            comments=dict(self.comments),
        )

    @property
    def state(self) -> State:
        """What that adds up to."""
        return derive(self.snapshot, self.program, self.now)

    @property
    def thesis(self) -> Thesis:
        """Thesis #12."""
        found = self.state.thesis(12)
        assert found
        return found

    @property
    def phase(self) -> str:
        """The phase of #12, with its outcome."""
        thesis = self.thesis
        return f"resolved:{thesis.outcome}" if thesis.outcome else thesis.phase

    @property
    def faults(self) -> list[tuple[str, int | None]]:
        """The findings, as severity and comment id."""
        return [(finding.severity, finding.comment_id) for finding in self.state.findings]


@pytest.fixture
def story() -> Callable[..., Story]:
    """`story(auto_approve=False)` starts one, with those parameters in PROGRAM.md."""
    return Story


@pytest.fixture(scope="session")
def existing() -> Any:
    """What a node on the existing tool makes of a story: `existing(story).phases[12]`."""
    spec = importlib.util.spec_from_file_location("existing", HERE / "existing.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda told: module.ExistingReader(told.snapshot, told.program, told.now)


@pytest.fixture(scope="session")
def acceptance_cases() -> dict[str, Any]:
    """The acceptance cases, by id."""
    return {case["id"]: case for case in json.loads((HERE / "cases.json").read_text())["cases"]}
