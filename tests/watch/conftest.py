"""A registered project with rows as the daemon would write them, and the screen on it, driven by keys."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from herdr.contract.words import TargetKind
from herdr.ops.client import DirectClient, connect
from herdr.store.rows import Agent, Project
from herdr.watch.app import Watch
from herdr.watch.feed import Feed
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
[roles.worker]
max_concurrent = 3
[harness.fake]
interactive = ["sh", "-c", "exit"]
"""
NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=timezone.utc)
PATIENCE = 15.0


def at(minutes_ago: int) -> str:
    """A time of the store, some minutes before the clock of the screen."""
    stamp = NOW.timestamp() - 60 * minutes_ago
    return datetime.fromtimestamp(stamp, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class Campaign(RecordedCampaign):
    """Everything in it has an age, counted from the clock of the screen."""

    def idea(self, title: str = "Try it", status: str = "ready", **columns: Any) -> int:
        return super().idea(title, **{"status": status, "created_at": at(60), **columns})

    def agent(self, run: int | None, **columns: Any) -> Agent:
        return super().agent(run, **{"launched_at": at(5), **columns})

    def candidate(self, run: int, size: float | None, verdict: str | None = None, **columns: Any) -> int:
        number = self.value("SELECT count(*) FROM candidates")
        row = {"on_trunk": verdict == "keep", "created_at": at(30 - number)}
        candidate = super().candidate(run, size, verdict, **{**row, **columns})
        if verdict == "keep":
            self.set(Project, 1, head_id=candidate)
        return candidate

    def waiting(self, target: tuple[TargetKind, int], body: str, priority: int | None = 2, **columns: Any) -> int:
        """A comment that waits in the inbox; its id."""
        row = {"priority": priority, "actor": "worker#1", "created_at": at(10)}
        return self.comment(target, body, **{**row, **columns})


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Campaign]:
    root = tmp_path / "tiny"
    root.mkdir()
    root.joinpath("piloop.toml").write_text(TOML)
    campaign = Campaign(root, signs="daemon")
    campaign.register(on_trunk=True, created_at=at(30))
    yield campaign
    campaign.close()


@pytest.fixture
def full(campaign: Campaign) -> Campaign:
    """A campaign in which every panel has something: four kinds of agent, five of idea, six of candidate."""
    campaign.idea("Combine the title of candidate#2 with the model of candidate#3", "seed", priority=1,
                  provenance="candidate#2, candidate#3", source="worker#1")  # fmt: skip
    campaign.idea("Ask whether 日本語 titles break the table", "proposed", source="research#7", priority=3)
    campaign.idea("Gradient boosting on engineered features", priority=0,
                  hypothesis="Trees use the title and family-size features better than the linear model.",
                  plan="First the cheapest check.\nThen the rest.")  # fmt: skip
    campaign.idea("A second step that builds on the first", priority=2)
    campaign.store.execute(
        "INSERT INTO idea_links (idea_id, target_id, kind, actor) VALUES (4, 3, 'after', 'human')"
    )
    for number, title in enumerate(("Smaller batches", "Cache [the] features", "Larger model"), start=5):
        campaign.idea(title, "scheduled")
        campaign.run(number)
    campaign.idea("Too slow for now", "parked")
    campaign.idea("Tried long ago", "done")
    campaign.agent(1, last_line="epoch 3 of 10, loss 0.412", tokens_in=1200, tokens_out=300)
    campaign.agent(2, state="blocked", cause="permission", last_line="Do you want to proceed? 1. Yes  2. No")
    campaign.agent(3, state="starting", launched_at=at(0))
    campaign.agent(None, role="research", state="idle", launched_at=at(61))
    campaign.candidate(1, 6, "keep", subject="Cache the features", reason="2 better than candidate#1")
    campaign.candidate(1, 7, "discard", subject="Larger batches", reason="1 better than candidate#1, no more")
    campaign.candidate(2, None, "crash", subject="Rewrite it all")
    campaign.candidate(2, 6.5, "interesting", subject="Odd, but quick", note="fewer imports")
    campaign.candidate(3, 5.25, "keep", subject="Fewer features", reason="0.75 better than candidate#2")
    campaign.candidate(3, None, None, subject="Still to judge")
    campaign.waiting(("run", 2), "The dialog asks for a permission that I do not have.\nShall I go on?", 0,
                     kind="escalation", actor="worker#2", created_at=at(3))  # fmt: skip
    campaign.waiting(("idea", 5), "Batches of 16 are as good.\x1b[31m", 2, kind="finding")
    campaign.waiting(("comment", 2), "Then try 8.", None, kind="decision", actor="human", created_at=at(4))
    return campaign


class Screen:
    """The screen as a person has it: keys go in, text comes out."""

    def __init__(self, app: Watch, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text.rstrip() for strip in strips) + "\n"

    @property
    def marked(self) -> str:
        """What is shown in reverse below the header: the selected row."""
        lines = self.app.screen._compositor.render_strips()[1:]
        return "".join(part.text for line in lines for part in line if part.style and part.style.reverse)

    @property
    def said(self) -> str:
        """The line at the bottom that tells what came of a key."""
        return self.text.splitlines()[-2].strip()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    async def type(self, text: str) -> None:
        """Type a text, and enter, into the field that is open."""
        await self.until(lambda: self.app.query_one("#bar").has_class("asking"), "a question")
        self.app.query_one(Input).insert_text_at_cursor(text)
        await self.pilot.press("enter")

    async def sees(self, text: str) -> None:
        await self.until(lambda: text in self.text, repr(text))

    async def sees_not(self, text: str) -> None:
        await self.until(lambda: text not in self.text, f"no {text!r}")

    async def settled(self) -> None:
        """Until the screen stays as it is for a while."""
        before = ""
        for _ in range(200):
            await self.pilot.pause(0.1)
            if self.text == before:
                return
            before = self.text
        raise AssertionError(self.text)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"waited for {what}:\n{self.text}"
            await self.pilot.pause(0.02)


@asynccontextmanager
async def watching(campaign: Campaign, size: tuple[int, int] = (120, 40)) -> AsyncIterator[Screen]:
    """The screen on a campaign, once everything is shown."""
    client = connect(os.environ, campaign.root)
    assert isinstance(client, DirectClient)
    feed = Feed(client, "tiny")
    app = Watch(feed, campaign.home, clock=lambda: NOW)
    try:
        async with app.run_test(size=size) as pilot:
            screen = Screen(app, pilot)
            await screen.sees("tiny ·")
            await screen.sees("#1")
            yield screen
    finally:
        feed.close()


@pytest.fixture
def watch(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`watch(play)` runs `await play(screen)` on the screen of the campaign, at a size."""

    monkeypatch.setattr("herdr.watch.app.LOOK", 0.05)

    def run(play: Callable[[Screen], Any], size: tuple[int, int] = (120, 40)) -> None:
        async def go() -> None:
            async with watching(campaign, size) as screen:
                await play(screen)

        asyncio.run(go())

    return run
