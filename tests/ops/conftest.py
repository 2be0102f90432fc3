"""A registered project with a real repo, and rows as the daemon would write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from herdr.ops.core import A, Context, Request
from herdr.store.rows import Agent
from herdr.tokens import token_hash
from tests.campaigns import RecordedCampaign

TOML = """
name = "tiny"
runtime = "herdr"
evaluate = ["sh", "evaluate.sh"]
harnesses = ["fake"]
[[metrics]]
name = "size"
direction = "lower"
role = "primary"
[harness.fake]
interactive = ["sh", "-c", "exit"]
"""
FILES = {"piloop.toml": TOML, "evaluate.sh": 'echo "METRIC size=$(cat size)"\n', "size": "8\n"}
TOKEN = "the token"


class Campaign(RecordedCampaign):
    """Its agents have a token, its candidates are commits of runs, and everybody can ask."""

    def agent(self, run: int | None, **columns: Any) -> Agent:
        return super().agent(run, **{"token_hash": token_hash(TOKEN), **columns})

    def commit(self, run: int, sha: str, size: float, **columns: Any) -> int:
        """A commit of a run, which is a candidate with a score; the candidate's id."""
        candidate = self.candidate(run, size, **{"commit_sha": sha, "tree_sha": sha[::-1], **columns})
        self.store.execute(
            "INSERT INTO run_commits (run_id, position, commit_sha, candidate_id) VALUES (?, ?, ?, ?)",
            (run, candidate, sha, candidate),
        )
        return candidate

    def as_human(self, request: Request[A]) -> A:
        return self.ask(request)

    def as_orchestrator(self, request: Request[A]) -> A:
        return self.ask(request, actor="orchestrator")

    def as_agent(self, agent: Agent, request: Request[A]) -> A:
        return self.ask(request, agent=agent)

    def context_of(self, agent: Agent) -> Context:
        return self.context(agent=agent)


@pytest.fixture
def campaign(make_repo: Callable[..., Path]) -> Iterator[Campaign]:
    campaign = Campaign(make_repo(FILES))
    git = campaign.git
    campaign.register(commit=git("rev-parse", "HEAD"), tree=git("rev-parse", "HEAD^{tree}"))
    yield campaign
    campaign.close()
