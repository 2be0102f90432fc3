"""Every key, against a real store."""

from __future__ import annotations

from typing import Any

import pytest

from herdr.daemon.lock import daemon_lock
from herdr.store.rows import Message, Project
from herdr.watch.keys import KEYS

TRIED = {*"1234jkypxstarq0", "enter", "esc", "/", "+", "-", "?"}


def test_no_key_is_untested() -> None:
    assert {key.shown.split()[0] for key in KEYS} == TRIED


def test_numbers_go_to_panels_and_the_detail_and_their_hints_change(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        for key, panel, hint in (
            ("1", "inbox", "a acknowledge"),
            ("2", "agents", "s steer"),
            ("4", "candidates", "enter open"),
            ("3", "ideas", "y approve"),
        ):
            await screen.press(key)
            await screen.until(lambda: screen.app.focused.id == panel, panel)  # noqa: B023
            await screen.sees(hint)
        await screen.press("0")
        assert screen.app.focused.id == "detail"

    watch(play)


def test_j_and_k_move_and_the_detail_follows(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "j", "j")
        await screen.sees("Trees use the title")
        await screen.sees("Then the rest.")
        assert "Gradient boosting" in screen.marked
        await screen.press("k")
        await screen.sees("by research#7")
        assert "Ask whether" in screen.marked
        assert "Gradient boosting" not in screen.marked
        await screen.press("j", "j")
        await screen.sees("waits for idea#3")
        await screen.press("1", "j")
        await screen.sees("comment#3 decision by human")

    watch(play)


def test_j_and_k_scroll_a_detail_that_is_longer_than_the_screen(campaign: Any, watch: Any) -> None:
    campaign.idea("Long", plan="\n".join(f"step {n}" for n in range(90)))

    async def play(screen: Any) -> None:
        await screen.sees("step 3")
        await screen.press("0")
        await screen.press(*["j"] * 12)
        await screen.sees_not("step 3\n")
        await screen.sees("step 40")
        campaign.waiting(("project", 1), "Something else", 1)
        await screen.sees("Something else")
        await screen.settled()
        assert "step 40" in screen.text, "what changes elsewhere leaves it where it was"
        await screen.press(*["k"] * 12)
        await screen.sees("idea#1: Long")

    watch(play)


def test_enter_opens_the_detail_and_esc_goes_back(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("4", "enter")
        await screen.sees_not("1 Inbox")
        await screen.sees("candidate#7: Still to judge")
        await screen.press("escape")
        await screen.sees("1 Inbox")
        assert screen.app.focused.id == "candidates"

    watch(play)


def test_slash_shows_only_the_rows_that_hold_a_text_until_esc(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "slash")
        await screen.type("BATCH")
        await screen.sees("Smaller batches")
        await screen.sees_not("Gradient boosting")
        await screen.sees("/BATCH")
        full.idea("Batches of one")
        await screen.sees("Batches of one")
        await screen.press("slash")
        await screen.type("ES of none")
        await screen.sees("nothing that holds this")
        await screen.press("y")
        await screen.sees("nothing is selected")
        await screen.press("escape")
        await screen.sees("Gradient boosting")

    watch(play)


def test_esc_leaves_a_filter_as_it_was(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "slash", *"model")
        await screen.sees_not("Smaller batches")
        await screen.press("escape")
        await screen.sees("Smaller batches")

    watch(play)


@pytest.mark.parametrize(
    ("key", "down", "idea", "status", "said"),
    [
        ("y", 1, 2, "ready", "approved: looks good"),
        ("y", 7, 8, "ready", "ready: looks good"),
        ("p", 2, 3, "parked", "parked: looks good"),
        ("x", 0, 1, "rejected", "rejected: looks good"),
    ],
)
def test_moves_ask_why_and_the_reason_is_kept(
    full: Any, watch: Any, key: str, down: int, idea: int, status: str, said: str
) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", *["j"] * down, key)
        await screen.type("looks good")
        await screen.sees(f"→ {status}")

    watch(play)
    assert full.value("SELECT status FROM ideas WHERE id = ?", idea) == status
    assert full.value("SELECT actor FROM ideas WHERE id = ?", idea) == "human"
    comment = "SELECT body FROM comments WHERE target_kind = 'idea' AND target_id = ? ORDER BY id DESC"
    assert full.value(comment, idea) == said


def test_a_move_needs_no_reason_and_esc_leaves_the_idea_alone(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "p")
        await screen.sees("why park idea#1?")
        await screen.press("escape")
        await screen.sees_not("why park")
        assert full.value("SELECT status FROM ideas WHERE id = 1") == "seed"
        await screen.press("p")
        await screen.type("")
        await screen.sees("idea#1: seed → parked")

    comments = full.value("SELECT count(*) FROM comments")
    watch(play)
    assert full.value("SELECT count(*) FROM comments") == comments


def test_a_move_that_is_not_legal_is_said_in_a_line(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "j", "j", "y")
        await screen.type("")
        await screen.sees("idea#3 is ready: there is nothing to approve")

    watch(play)


def test_a_scheduled_idea_that_is_parked_says_that_its_run_goes_on(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", *"jjjj", "p")
        await screen.type("")
        await screen.sees("idea#5: scheduled → parked; run#1 goes on")

    watch(play)


def test_plus_and_minus_change_the_priority_once_a_press(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "j", "j", "j")
        # Faster than anything can be read again.
        screen.app.action_deed("less_urgent")
        screen.app.action_deed("less_urgent")
        await screen.sees("idea#4: P3 → P4")
        await screen.press("minus")
        await screen.sees("idea#4 is P4 already")
        await screen.press("plus", "equals_sign", "plus", "plus")
        await screen.sees("idea#4: P1 → P0")
        await screen.press("plus")
        await screen.sees("idea#4 is P0 already")

    watch(play)
    assert full.value("SELECT priority FROM ideas WHERE id = 4") == 0
    assert full.value("SELECT count(*) FROM events WHERE kind = 'idea.edited' AND target_id = 4") == 6


def test_a_takes_a_comment_out_of_the_inbox(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("1", "a")
        await screen.sees("comment#1 acknowledged")
        await screen.sees_not("P0 run#2")
        await screen.press("a")
        await screen.sees("nothing waits for you")

    watch(play)
    assert full.value("SELECT group_concat(acked_by) FROM comments WHERE acked_at IS NOT NULL") == "human,human"


def test_r_answers_a_comment(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("1", "r")
        await screen.type("Yes, go on: 'all' of it; #1")
        await screen.sees("comment#4 answers comment#1")
        await screen.sees_not("P0 run#2")

    watch(play)
    row = full.store.execute("SELECT kind, actor, target_kind, target_id, body FROM comments WHERE id = 4")
    assert tuple(row.fetchone()) == ("decision", "human", "comment", 1, "Yes, go on: 'all' of it; #1")


@pytest.mark.parametrize(
    ("state", "detail", "said"),
    [
        ("received", "seen in its log", "worker#1 received it (seen in its log)"),
        ("unconfirmed", None, "worker#1 got it typed, but nothing shows that it was taken"),
        ("failed", "the run has ended", "worker#1 was told nothing (the run has ended)"),
    ],
)
def test_s_sends_a_text_and_says_what_became_of_it(
    full: Any, watch: Any, state: str, detail: str | None, said: str
) -> None:
    async def play(screen: Any) -> None:
        with daemon_lock(full.home):
            await screen.press("2", "s")
            await screen.sees("to worker#1:")
            await screen.type("try 8, not 16")
            await screen.sees("on its way to worker#1")
            full.set(Message, 1, detail="the pane is in copy mode")
            await screen.sees("has not received it yet: the pane is in copy mode")
            full.set(Message, 1, state=state, detail=detail)
            await screen.sees(said)

    watch(play)
    assert full.value("SELECT body FROM messages WHERE agent_id = 1") == "try 8, not 16"
    assert full.value("SELECT actor FROM events WHERE kind = 'message.queued'") == "human"


def test_s_on_an_idea_steers_the_agent_that_tries_it(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        with daemon_lock(full.home):
            await screen.press("3", "s")
            await screen.sees("no agent works on idea#1 now")
            await screen.press(*"jjjjj", "s")
            await screen.sees("to worker#2:")
            await screen.press("escape")

    watch(play)
    assert full.value("SELECT count(*) FROM messages") == 0


def test_s_says_when_nobody_would_type_it(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("2", "s")
        await screen.sees("the daemon is not running, so nobody types (herdr up)")

    watch(play)


def test_s_and_t_say_why_an_agent_in_the_background_cannot_be_reached(full: Any, watch: Any) -> None:
    config = full.value("SELECT replace(config, '\"herdr\"', '\"subprocess\"') FROM projects")
    full.set(Project, 1, config=config)

    async def play(screen: Any) -> None:
        with daemon_lock(full.home):
            await screen.press("2", "s")
            await screen.type("hello")
            await screen.sees("worker#1 was told nothing")
            await screen.press("t")
            await screen.sees("there is nothing to attach to")

    watch(play)


def test_t_says_when_there_is_nothing_to_attach_to(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("2", "t")
        await screen.sees("tiny has no tmux session (herdr up")

    watch(play)


def test_a_key_in_the_wrong_panel_says_what_it_takes(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("4", "y")
        await screen.sees("this key takes an idea (3)")
        await screen.press("s")
        await screen.sees("this key takes an agent (2) or its idea (3)")
        await screen.press("a")
        await screen.sees("this key takes a comment in the inbox (1)")

    watch(play)


def test_the_page_of_keys_names_each_and_closes(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("question_mark")
        for key in KEYS:
            await screen.sees(key.text)
        await screen.press("escape")
        await screen.sees("1 Inbox")
        await screen.press("question_mark")
        await screen.sees("down")
        await screen.press("question_mark")
        await screen.sees_not("the campaign goes on")

    watch(play)


def test_q_quits_but_not_while_a_text_is_typed(full: Any, watch: Any) -> None:
    async def play(screen: Any) -> None:
        await screen.press("3", "x")
        await screen.type("quick question")
        await screen.sees("idea#1: seed → rejected")
        await screen.press("q")
        await screen.until(lambda: not screen.app.is_running, "the end")

    watch(play)
