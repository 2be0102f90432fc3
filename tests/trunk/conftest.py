"""A project in a store of its own, with candidates as a campaign leaves them: no git, no daemon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from herdr.campaign.verdict import Verdict
from herdr.contract.words import VerdictCause, VerdictRule
from herdr.home import Home
from herdr.store.connection import Store, open_store, transaction
from herdr.store.rows import Candidate, Comment, Idea, Project, Run, fetch, get
from herdr.trunk import moves

DAEMON = moves.By(actor="daemon", at="2026-01-02T03:04:05.678Z")
HUMAN = moves.By(actor="human", at="2026-02-03T04:05:06.789Z")


def verdict(word: Any, rule: VerdictRule = "gain", cause: VerdictCause | None = None) -> Verdict:
    return Verdict(verdict=word, rule=rule, reason=f"it is a {word}", cause=cause)


class Trunk:
    """What the tests do to the project; candidate 1 is its baseline and head."""

    def __init__(self, store: Store) -> None:
        self.store = store
        Project.insert(store, name="tiny", path="/tiny", config="{}", actor="human")
        self.start("1")
        #: The verdicts of the keep rule, by candidate; what is not here is discarded.
        self.verdicts: dict[int, Verdict] = {}
        self.asked: list[tuple[int, int]] = []

    def start(self, tree: str) -> int:
        baseline = moves.Baseline(commit=f"c{tree}", tree=tree, subject="first")
        with transaction(self.store):
            return moves.start(self.store, 1, baseline, "human")

    def run(self, base: int = 1, *, branch: bool = False) -> Run:
        title = f"Try {self.store.execute('SELECT count(*) FROM ideas').fetchone()[0]}"
        idea = Idea.insert(self.store, project_id=1, title=title, source="human", actor="human")
        return get(
            self.store,
            Run,
            Run.insert(
                self.store,
                project_id=1,
                idea_id=idea,
                number=1,
                base_id=base,
                harness="fake",
                is_branch=branch,
                state="succeeded",
                actor="daemon",
            ),
        )

    def candidate(self, run: Run, parent: int, says: str | None = None, **values: Any) -> Candidate:
        """A new candidate, which the keep rule says `says` of."""
        count = self.store.execute("SELECT count(*) FROM candidates").fetchone()[0] + 1
        row: dict[str, Any] = {"project_id": 1, "run_id": run.id, "parent_id": parent, "tree_sha": str(count)}
        row |= {"commit_sha": f"c{count}", "subject": "better", "origin": "run", "actor": "daemon", **values}
        number = Candidate.insert(self.store, **row)
        self.store.execute(
            "INSERT INTO run_commits (run_id, position, commit_sha, candidate_id) VALUES (?, ?, ?, ?)",
            (run.id, number, f"c{count}", number),
        )
        if says is not None:
            self.verdicts[number] = verdict(says)
        return self.row(number)

    def row(self, number: int) -> Candidate:
        return get(self.store, Candidate, number)

    @property
    def head(self) -> int | None:
        return get(self.store, Project, 1).head_id

    def keep_rule(self, candidate: Candidate, bar: Candidate) -> Verdict:
        self.asked.append((candidate.id, bar.id))
        return self.verdicts.get(candidate.id, verdict("discard", "no_gain"))

    def judge_run(self, run: Run, bar: int = 1) -> list[moves.Judged]:
        with transaction(self.store):
            return moves.judge_run(self.store, run, self.row(bar), self.keep_rule, DAEMON)

    def head_moves(self) -> int:
        found: int = self.store.execute("SELECT count(*) FROM events WHERE kind = 'head.moved'").fetchone()[0]
        return found

    def notes(self, number: int) -> list[str]:
        on = "WHERE target_kind = 'candidate' AND target_id = ?"
        return [comment.body for comment in fetch(self.store, Comment, on, number)]


@pytest.fixture
def trunk() -> Iterator[Trunk]:
    store = open_store(Home.from_environ(os.environ).ensure().database, mode="daemon", actor="daemon")
    yield Trunk(store)
    store.close()
