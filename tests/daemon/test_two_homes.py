"""Two homes on one repo, of two people or of a container: neither meets what is the other's, however they die."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .careless import person_state
from .conftest import Campaign
from .test_headless import configure

#: `make soak` sets it higher.
KILLS = int(os.environ.get("STORM_KILLS", "2"))
SEED = int(os.environ.get("STORM_SEED", "1"))
LIMIT = 150 + 10 * KILLS


class OfHome:
    """One of the homes: it files ideas with the same titles as the other, and knows which commits are its own.

    Args:
        name: is in the subjects of its commits.
        campaign: in its home.
    """

    def __init__(self, name: str, campaign: Campaign) -> None:
        self.name, self.campaign = name, campaign
        self.subjects: set[str] = set()
        self.ideas = 0

    def add_ideas(self, count: int) -> None:
        """Ideas whose agents commit twice, and leave something uncommitted."""
        for number in range(self.ideas, self.ideas + count):
            self.campaign.idea(
                f"idea {number}", f"commit number={number}.1 {self.name} first {number}", "sleep 0.3",
                f"commit number={number}.2 {self.name} second {number}", f"write left.{number} {self.name}",
            )  # fmt: skip
            self.subjects |= {f"{self.name} first {number}", f"{self.name} second {number}"}
        self.ideas += count

    def up(self) -> None:
        """Start its daemon."""
        self.campaign.up(PILOOP_HOME=str(self.campaign.home.root))

    def unsettled(self) -> int:
        """How many ideas are not through."""
        return self.ideas - int(self.campaign.value("SELECT count(*) FROM runs WHERE settled_at IS NOT NULL"))

    def check(self) -> None:
        """Each run ended once, each commit of its own agents is there and none of the other's."""
        final = "('run.succeeded', 'run.failed', 'run.timed_out', 'run.cancelled')"
        sql = f"SELECT target_id, count(*) FROM events WHERE kind IN {final} GROUP BY target_id"
        assert {row[0]: row[1] for row in self.campaign.rows(sql)} == dict.fromkeys(range(1, self.ideas + 1), 1)
        assert {row[0] for row in self.campaign.rows("SELECT state FROM runs")} == {"succeeded"}
        sql = "SELECT subject FROM candidates WHERE origin = 'run'"
        assert {row[0] for row in self.campaign.rows(sql)} == self.subjects
        for commit, origin in self.campaign.rows("SELECT commit_sha, origin FROM candidates"):
            if origin == "recovered":
                left = self.campaign.git("diff", "--name-only", f"{commit}~1", commit).split()
                assert [self.campaign.git("show", f"{commit}:{path}") for path in left] == [self.name]
        repositories = self.campaign.home.repositories(self.campaign.root)
        assert not list(repositories.glob("run-*.git"))


@pytest.fixture
def homes(unregistered: Campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[OfHome]]:
    configure(unregistered)
    unregistered.register()
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("PILOOP_HOME", str(tmp_path / "other-home"))
        other = Campaign(unregistered.root)
        other.register()
    yield [OfHome("one", unregistered), OfHome("other", other)]
    other.close()


@pytest.mark.timeout(2 * LIMIT)
def test_two_homes_on_one_repo_are_killed_at_random_moments(homes: list[OfHome]) -> None:
    root, chance = homes[0].campaign.root, random.Random(SEED)
    before = person_state(root)
    for home in homes:
        home.add_ideas(3)
        home.up()
    for _ in range(KILLS):
        for home in chance.sample(homes, 2):
            time.sleep(chance.uniform(0.1, 1.5))  # the moment is random, and nothing waits for it
            if not home.unsettled():
                home.add_ideas(2)
            home.campaign.kill()
            home.up()
    for home in homes:
        home.campaign.settled(home.ideas, seconds=LIMIT)
    for home in homes:
        home.check()
    after = person_state(root)
    assert {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)} == set()
    assert [path.name for path in (root / ".worktrees").iterdir()] == [".gitignore"]
