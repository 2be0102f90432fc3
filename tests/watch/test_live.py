"""What others write is on the screen at once, nothing is read for nothing, and what fails is a line."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any

import pytest

from herdr.daemon.lock import daemon_lock
from herdr.ops.core import Request
from herdr.ops.project import ShowLive
from herdr.store.rows import Agent, Candidate, Idea, Project

LOOKS = {"sql.run"}
LIVE = {ShowLive.operation, "event.list"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each operation was asked for."""
    from herdr.ops.client import DirectClient

    counter: Counter[str] = Counter()
    ask = DirectClient.ask

    def counted(self: DirectClient, request: Request[Any]) -> Any:
        counter[request.operation] += 1
        return ask(self, request)

    monkeypatch.setattr(DirectClient, "ask", counted)
    return counter


def test_what_others_write_appears_by_itself(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        full.idea("A new hunch", "seed", priority=0, source="watchdog#9")
        await screen.sees("A new hunch")
        full.set(Idea, 3, status="parked")
        await screen.sees("parked    P0 #3")
        full.set(Agent, 2, last_line="allowed; going on")
        await screen.sees("allowed; going on")
        full.waiting(("run", 1), "It hangs", 1)
        await screen.sees("P1 run#1")
        number = full.candidate(1, 2, None, subject="Much smaller")
        await screen.sees("to judge    2")
        full.set(Candidate, number, verdict="keep", on_trunk=True, judged_by="daemon")
        full.set(Project, 1, head_id=number)
        await screen.sees(f"#{number}* keep")
        await screen.sees("size 2, 75 % better than the baseline (candidate#8)")
        await screen.sees("█▆▅▁")
        full.set(Agent, 1, state="ended")
        await screen.sees("3 agents")
        await screen.sees_not("worker#1 busy")

    watch(play)


def test_the_selected_row_stays_selected_when_others_come_and_go(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "j", "j")
        await screen.sees("idea#3: Gradient")
        full.idea("Before it", "seed", priority=0)
        full.set(Idea, 3, plan="Another plan", hypothesis="")
        await screen.sees("Before it")
        await screen.sees("Another plan")
        assert screen.app.query_one("#ideas").row.ref == "idea#3"
        full.set(Idea, 3, status="done")
        await screen.sees_not("Gradient boosting on engineered features ")
        assert screen.app.query_one("#ideas").row is not None

    watch(play)


def test_nothing_is_read_while_nothing_changes_and_only_what_changed_when_something_does(
    full: Any, watch: Any, asked: Counter[str]
) -> None:
    async def play(screen: Any) -> None:
        await screen.settled()
        asked.clear()
        await screen.until(lambda: asked["sql.run"] >= 6, "some looks")
        assert set(asked) == LOOKS
        asked.clear()
        full.set(Agent, 1, last_line="epoch 4")
        await screen.sees("epoch 4")
        assert set(asked) - LOOKS == LIVE | {"idea.show"}
        asked.clear()
        full.waiting(("run", 1), "It hangs", 1)
        await screen.sees("It hangs")
        await screen.until(lambda: asked["idea.show"] > 0, "the detail")
        assert set(asked) - LOOKS == {*LIVE, "inbox.list", "idea.show"}

    watch(play)


def test_after_very_many_events_everything_is_read_again(
    full: Any, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("herdr.watch.feed.MANY", 3)

    async def play(screen: Any) -> None:
        full.store.execute("BEGIN")
        for number in range(5):
            full.idea(f"One of many, {number}")
        full.waiting(("run", 1), "And this", 1)
        full.store.execute("COMMIT")
        await screen.sees("One of many, 4")
        await screen.sees("And this")

    watch(play)


def test_the_header_says_what_keeps_the_campaign_from_going_on(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.sees("the daemon is not running: herdr up")
        with daemon_lock(full.home):
            full.set(Project, 1, state="paused", state_reason="until Monday", config_error="line 3: …")
            await screen.sees("tiny · paused (until Monday) · piloop.toml is wrong")
            full.set(Project, 1, state="active", config_error=None, held_since="2026-01-01T00:00:00.000Z")
            await screen.sees("tiny · nothing is launched: too many starts failed · 4 agents")

    watch(play)


def test_what_fails_is_said_in_a_line_and_the_screen_goes_on(
    full: Any, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database is kept locked by another process for longer than a write waits."""
    real = sqlite3.connect

    def impatient(*arguments: Any, **more: Any) -> Any:
        return real(*arguments, **{**more, "timeout": 0.05})

    monkeypatch.setattr(sqlite3, "connect", impatient)

    async def play(screen: Any) -> None:
        full.store.execute("BEGIN IMMEDIATE")
        await screen.press("3", "minus")
        await screen.sees("herdr.db is locked: another process has been writing")
        full.store.execute("COMMIT")
        await screen.press("minus")
        await screen.sees("idea#1: P1 → P2")

    watch(play)


def test_an_unexpected_error_is_a_line_too_and_is_taken_back(
    full: Any, watch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play(screen: Any) -> None:
        with monkeypatch.context() as broken:
            broken.setattr("herdr.watch.app.header", lambda *_: 1 / 0)
            full.set(Agent, 1, last_line="epoch 5")
            await screen.sees("ZeroDivisionError: division by zero")
        await screen.sees("epoch 5")
        await screen.sees_not("ZeroDivisionError")

    watch(play)


def test_what_is_selected_may_be_gone(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", *"jjjjjjj")
        await screen.sees("idea#8: Too slow")
        full.store.execute("DELETE FROM ideas WHERE id = 8")
        await screen.sees("there is no idea#8")

    watch(play)


def test_changes_are_shown_behind_the_page_of_keys(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("question_mark")
        await screen.sees("Keys")
        full.idea("Meanwhile", "seed", priority=0)
        await screen.settled()
        await screen.press("escape")
        await screen.sees("Meanwhile")
        assert screen.said == ""

    watch(play)


def test_text_of_others_cannot_command_the_screen(campaign: Any, watch: Any) -> None:
    campaign.idea(
        "[bold red]loud[/] \x1b[2J\x1b[31m and [@click=app.quit]more[/]", hypothesis="a\x1b]0;x\x07b\n[/]"
    )

    async def play(screen: Any) -> None:
        await screen.sees("[bold red]loud[/]  and [@click=app.quit]more[/]")
        await screen.sees("idea#1: [bold red]loud[/]")
        assert "\x1b" not in screen.text

    watch(play)


def test_two_hundred_rows_are_shown_of_more(campaign: Any, watch: Any) -> None:
    campaign.store.execute("BEGIN")
    for number in range(230):
        campaign.idea(f"Idea number {number}")
    campaign.store.execute("COMMIT")

    async def play(screen: Any) -> None:
        await screen.sees("200 of 230")

    watch(play)
