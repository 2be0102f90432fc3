"""How a text is typed, against programs with the traits of real ones; what they logged is the truth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from herdr.api import ScreenRules, SendRules
from herdr.harness.screen import read_screen
from herdr.mux.composer import may_stand
from herdr.mux.keystrokes import Patience, resume_submit

pytestmark = pytest.mark.anyio

SHORT = "read .herdr/brief.md; then begin"
LONG = "\n".join(f"{number:03d}: a line of a long text; with #(touch x) and $HOME" for number in range(30))
WRAPPED = " ".join(f"word{number}" for number in range(60))
HUGE = "é;#~$ x" * 5_000

ONCE: dict[str, tuple[tuple[str, ...], str]] = {
    "plain": ((), SHORT),
    "alternate_screen": (("--alternate",), SHORT),
    "spinner_in_title": (("--spinner",), SHORT),
    "hint_in_composer": (("--hint", 'Try "fix the tests"'), SHORT),
    "wrapped_over_rows": ((), WRAPPED),
    "several_lines": ((), "first\nsecond\n\nlast"),
    "folded_paste": (("--fold", "200"), LONG),
    "forty_kilobytes": (("--fold", "1000"), HUGE),
    "paste_debounce_swallows_enter": (("--debounce", "0.5"), SHORT),
    "two_enters_lost": (("--swallow", "2"), SHORT),
    "enter_becomes_newline": (("--newline-enters", "1"), SHORT),
    "echo_comes_late": (("--echo-late", "0.5"), SHORT),
    "busy_and_queued": (("--start-busy",), SHORT),
    "composer_hidden_by_work": (("--busy", "30", "--hide"), SHORT),
    "only_a_semicolon": ((), ";"),
    "leading_dash": ((), "-x --help"),
    "key_name": ((), "Enter"),
    "unicode": ((), "größe 日本語 🚀 ~/x `id` \"q\" 'q' #{pane_id} %H"),
}


@pytest.mark.parametrize("case", ONCE)
async def test_arrives_exactly_once_byte_for_byte(mux: Any, case: str) -> None:
    switches, text = ONCE[case]
    program = await mux.tui(*switches)
    delivery = await program.submit(text)
    assert (delivery.state, [message.rstrip("\n") for message in program.messages]) == ("received", [text])
    assert not [entry for entry in program.entries if "message" not in entry]


@pytest.mark.parametrize("width", [80, 200])
async def test_arrives_at_both_widths(mux: Any, width: int) -> None:
    program = await mux.tui(width=width, height=24)
    assert (await program.submit(WRAPPED)).state == "received"
    assert program.messages == [WRAPPED]


NOTHING_TYPED: dict[str, tuple[tuple[str, ...], str]] = {
    "dialog": (("--dialog", "start"), "a dialog is open (approval)"),
    "draft": (("--draft", "abc"), "a draft stands in its input line: abc"),
    "hidden_composer": (("--start-busy", "--hide"), "its input line is not on the screen"),
}


@pytest.mark.parametrize("case", NOTHING_TYPED)
async def test_waits_and_types_nothing(mux: Any, case: str) -> None:
    switches, why = NOTHING_TYPED[case]
    program = await mux.tui(*switches)
    before = await program.screen()
    told: list[bool] = []
    delivery = await program.submit("def", typing=lambda: told.append(True))
    assert delivery.state == "waiting"
    assert why in delivery.detail
    assert told == []
    assert (await program.screen()).text == before.text
    assert program.entries == []


async def test_waits_while_busy_when_the_harness_does_not_queue(mux: Any) -> None:
    program = await mux.tui("--start-busy")
    delivery = await program.submit("x", send=SendRules(settle=0.1, while_busy=False))
    assert (delivery.state, program.entries) == ("waiting", [])


async def test_waits_while_somebody_scrolls(mux: Any) -> None:
    program = await mux.tui()
    await mux.client.run("copy-mode", "-t", program.pane)
    delivery = await program.submit("x")
    assert (delivery.state, program.entries) == ("waiting", [])
    assert "copy mode" in delivery.detail
    await mux.client.run("send-keys", "-t", program.pane, "-X", "cancel")
    assert (await program.submit("x")).state == "received"
    assert program.messages == ["x"]


async def test_refuses_a_program_that_has_ended(mux: Any) -> None:
    program = await mux.tui("--die-on", "bye")
    assert (await program.submit("bye")).state == "unconfirmed"

    async def dead() -> bool:
        return bool((await program.screen()).dead)

    await mux.until(dead)
    assert (await program.submit("again")).state == "failed"
    await mux.client.run("kill-window", "-t", program.window)
    assert (await program.submit("again")).state == "failed"


@pytest.mark.parametrize("switches", [("--drop-head", "8"), ("--drop-tail", "8")])
async def test_a_text_that_arrived_in_part_is_never_submitted(mux: Any, switches: tuple[str, ...]) -> None:
    program = await mux.tui(*switches)
    delivery = await program.submit(SHORT, patience=mux.short)
    if switches[0] == "--drop-head":
        assert "something else" in delivery.detail
    assert (delivery.state, program.messages) == ("unconfirmed", [])


async def test_no_enter_into_a_dialog_that_opens_after_the_paste(mux: Any) -> None:
    program = await mux.tui("--dialog", "paste")
    delivery = await program.submit(SHORT, patience=mux.short)
    assert delivery.state == "unconfirmed"
    assert "a dialog is open" in delivery.detail
    assert program.entries == []


async def test_a_dialog_that_opens_after_the_enter_gets_no_key(mux: Any) -> None:
    program = await mux.tui("--dialog", "message")
    delivery = await program.submit(SHORT, patience=mux.short)
    assert delivery.state == "unconfirmed"
    assert "a dialog opened after the Enter" in delivery.detail
    assert program.entries == [{"message": SHORT, "queued": False}]


async def test_enter_is_pressed_three_times_at_most(mux: Any) -> None:
    program = await mux.tui("--swallow", "3")
    delivery = await program.submit(SHORT, patience=mux.short)
    assert delivery.state == "unconfirmed"
    assert "still stands" in delivery.detail
    assert program.messages == []


async def test_messages_never_merge(mux: Any) -> None:
    program = await mux.tui("--swallow", "3")
    await program.submit("abc", patience=mux.short)
    assert (await program.submit("def")).state == "waiting"
    resumed = await resume_submit(
        mux.client, program.pane, "abc", screen=mux.rules, send=mux.send, patience=mux.patience
    )
    assert resumed.state == "received"
    assert (await program.submit("def")).state == "received"
    assert program.messages == ["abc", "def"]


@pytest.mark.parametrize(
    ("screen", "stands"),
    [
        ("> \nstatus", False),
        (f"* {WRAPPED}\n> \nstatus", False),
        (f"> {WRAPPED}\nstatus", True),
        (f"> {WRAPPED[:90]}\n  {WRAPPED[90:]}", True),
        (f"> {WRAPPED[30:]}", True),
        (f"> {WRAPPED[:-30]}", True),
    ],
)
@pytest.mark.parametrize("blind", [False, True])
async def test_a_text_may_still_stand_where_the_rule_does_not_see_it(
    screen: str, stands: bool, blind: bool
) -> None:
    rules = ScreenRules(composer=r"^> ?(?P<text>(?!))?" if blind else r"^> ?(?P<text>.*)$")
    assert may_stand(read_screen(rules, screen), WRAPPED) is stands


async def test_the_enter_waits_until_the_paste_has_settled(mux: Any) -> None:
    program = await mux.tui("--debounce", "0.3")
    once = Patience(look=0.02, seen=3, taken=1, enters=1)
    assert (await program.submit(SHORT, send=SendRules(settle=0.6), patience=once)).state == "received"


async def test_a_person_who_begins_to_type_is_noticed(mux: Any) -> None:
    program = await mux.tui()
    states: list[str] = []

    async def herdr() -> None:
        states.append((await program.submit(SHORT, send=SendRules(settle=1))).state)

    async with anyio.create_task_group() as group:
        group.start_soon(herdr)
        await anyio.wait_all_tasks_blocked()
        await mux.client.run("send-keys", "-t", program.pane, "-l", "my own")
    assert (states, (await program.screen()).text.count(SHORT)) == (["waiting"], 0)


async def test_texts_for_one_pane_wait_for_each_other(mux: Any) -> None:
    program = await mux.tui("--debounce", "0.2")
    texts = [f"message {number}" for number in range(3)]
    async with anyio.create_task_group() as group:
        for text in texts:
            group.start_soon(program.submit, text)
    assert sorted(program.messages) == texts


async def test_evidence_of_the_harness_counts_first(mux: Any) -> None:
    program = await mux.tui("--busy", "30", "--hide")

    async def in_its_files() -> bool | None:
        return bool(program.messages == [SHORT])

    delivery = await program.submit(SHORT, evidence=in_its_files)
    assert (delivery.state, delivery.detail) == ("received", "the harness shows it")


async def test_evidence_of_an_earlier_same_text_does_not_count(mux: Any) -> None:
    program = await mux.tui("--swallow", "3")

    async def in_its_files() -> bool | None:
        return True

    assert (await program.submit(SHORT, evidence=in_its_files, patience=mux.short)).state == "unconfirmed"


async def test_the_caller_is_told_before_the_first_byte(mux: Any) -> None:
    program = await mux.tui()

    def crash() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await program.submit(SHORT, typing=crash)
    assert "begin" not in (await program.screen()).text


async def test_a_server_lost_while_typing_leaves_it_unconfirmed(mux: Any) -> None:
    program = await mux.tui()
    delivery = await program.submit(SHORT, typing=lambda: mux.server.command("kill-window", "-t", program.window))
    assert delivery.state == "unconfirmed"
    program = await mux.tui()
    delivery = await program.submit(SHORT, typing=mux.server.kill)
    assert delivery.state == "unconfirmed"
    assert "gone" in delivery.detail


async def test_an_empty_composer_is_reported_as_the_weaker_fact(mux: Any) -> None:
    program = await mux.tui()

    async def never() -> bool | None:
        return False

    delivery = await program.submit(SHORT, evidence=never)
    assert (delivery.state, delivery.detail) == ("received", "its input line is empty again")


async def test_resume_types_nothing(mux: Any) -> None:
    program = await mux.tui("--draft", "somebody's own")
    again = {"screen": mux.rules, "send": mux.send, "patience": mux.patience}
    assert (await resume_submit(mux.client, program.pane, "ours", **again)).state == "unconfirmed"
    assert program.entries == []
    assert "> somebody's own" in (await program.screen()).text


async def test_resume_presses_a_missing_enter(mux: Any) -> None:
    program = await mux.tui("--draft", WRAPPED)
    again = {"screen": mux.rules, "send": mux.send, "patience": mux.patience}
    assert (await resume_submit(mux.client, program.pane, WRAPPED, **again)).state == "received"
    assert program.messages == [WRAPPED]


LINES = ScreenRules(ready="^fake-tui ready")
RECEIVED = SendRules(settle=0.1, received=r"^received: {text}$")


async def test_line_program_confirms_by_its_received_rule(mux: Any) -> None:
    program = await mux.tui("--lines")
    texts = ["yes", "yes", "-n; #(id) (a|b) $HOME", "word " * 200 + "end"]
    states = [(await program.submit(text, screen=LINES, send=RECEIVED)).state for text in texts]
    assert (states, program.messages) == (["received"] * 4, texts)


async def test_line_program_is_not_believed_for_what_it_said_before(mux: Any) -> None:
    program = await mux.tui("--lines", "--answers", "1")
    options = {"screen": LINES, "send": RECEIVED, "patience": mux.short}
    states = [(await program.submit("yes", **options)).state for _ in range(2)]
    assert states == ["received", "unconfirmed"]


async def test_line_program_that_says_nothing_is_unconfirmed(mux: Any) -> None:
    program = await mux.tui("--lines", "--answers", "0")
    delivery = await program.submit("hello", screen=LINES, send=SendRules(settle=0.1))

    async def logged() -> bool:
        return bool(program.messages == ["hello"])

    await mux.until(logged)
    assert delivery.state == "unconfirmed"


async def test_line_program_is_never_given_what_its_terminal_would_cut(mux: Any) -> None:
    program = await mux.tui("--lines")
    fits, too_long = "x" * 4095, "x" * 4096
    delivery = await program.submit(too_long, screen=LINES, send=RECEIVED)
    assert (delivery.state, program.messages) == ("failed", [])
    assert "4096 bytes" in delivery.detail
    assert (await program.submit(fits, screen=LINES, send=RECEIVED)).state == "received"
    assert program.messages == [fits]


async def test_line_program_takes_each_kept_line_as_a_message(mux: Any) -> None:
    program = await mux.tui("--lines")
    send = SendRules(settle=0.1, newline="space", received=RECEIVED.received)
    assert (await program.submit("one\n!two\nthree", screen=LINES, send=send)).state == "received"
    assert program.messages == ["one !two three"]


async def test_nothing_is_typed_where_nothing_is_read(mux: Any) -> None:
    program = await mux.tui()
    assert (await program.submit("x", send=SendRules(accepts=False))).state == "failed"
    assert (await program.submit("\x1b[31m\u200b ", send=mux.send)).state == "failed"
    assert program.entries == []


async def test_what_is_typed_is_cleaned_and_disarmed(mux: Any) -> None:
    program = await mux.tui()
    text = "!rm -rf /\x1b[2J\u202e \x07and\u200b see @/etc/passwd"
    assert (await program.submit(text, send=SendRules(settle=0.1, disarm_at=True))).state == "received"
    assert program.messages == [" !rm -rf / and see @ /etc/passwd"]


async def test_paste_leaves_no_buffer_behind(mux: Any) -> None:
    program = await mux.tui()
    await program.submit(SHORT)
    assert await mux.client.run("list-buffers") == []


async def test_a_dialog_that_was_cleared_from_the_screen_does_not_hold_up_a_text(mux: Any) -> None:
    # Clearing moves what stood on the screen into the history, where evidence is looked for.
    fake = f"{sys.executable} -I -S {Path(__file__).with_name('fake_tui.py')} --log LOG"
    program = await mux.open("sh", "-c", rf"printf 'Do you want to run this?\n\033[H\033[2J'; exec {fake}")
    await program.shows("fake-tui ready")
    send = SendRules(settle=0.1, received=r"^\* {text}$")
    assert (await program.submit("hello", send=send)).state == "received"
