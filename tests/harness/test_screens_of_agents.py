"""Captures of real agents, read by the rules of their plugins; `screens/labels.toml` says what each shows."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from herdr.api import ScreenRules
from herdr.harness.screen import ScreenReading, read_screen

ROOT = Path(__file__).parents[2]
SCREENS = Path(__file__).parent / "screens"
LABELS: dict[str, dict[str, tuple[list[str], list[str]]]] = msgspec.toml.decode(
    (SCREENS / "labels.toml").read_bytes()
)
CASES = [(folder, name) for folder, names in LABELS.items() for name in names]


def rules(harness: str) -> ScreenRules:
    path = ROOT / "harnesses" / f"herdr_{harness.split('-')[0]}" / "screen.toml"
    return msgspec.toml.decode(path.read_bytes(), type=ScreenRules)


def capture(folder: str, name: str) -> str:
    return (SCREENS / folder / f"{name}.txt").read_text()


def read(folder: str, text: str, title: str = "") -> ScreenReading:
    return read_screen(rules(folder), text, title)


@pytest.mark.parametrize(("folder", "name"), CASES)
def test_a_capture_is_read_as_labelled(folder: str, name: str) -> None:
    got = read(folder, capture(folder, name))
    states, causes = LABELS[folder][name]
    assert got.state in states, got
    assert (got.cause or "") in causes, got


def test_every_capture_has_a_label() -> None:
    assert {(file.parent.name, file.stem) for file in SCREENS.glob("*/*.txt")} == set(CASES)


@pytest.mark.parametrize("folder", LABELS)
def test_an_empty_or_foreign_screen_is_unknown(folder: str) -> None:
    for text in ("", "\n\n\n", "$ make\ncc -c main.c\n", "some text\nwith 1. a list\n2. of things\n"):
        assert read(folder, text).state == "unknown"


@pytest.mark.parametrize(
    ("folder", "name", "composer", "folded"),
    [
        ("claude", "ready", "", False),
        ("claude", "composer_leading_hash", "# remember hash", False),
        ("claude", "composer_leading_bang", "echo bang", False),
        ("claude", "busy_with_queued", "", False),
        ("claude-2.1.332", "error_final_unreachable", "", False),
        ("claude", "trust_dialog", None, False),
        ("claude", "permission_dialog_typed_text_ignored", None, False),
        ("codex", "ready_no_alt_screen", "", False),
        ("codex", "composer_unknown_slash", "/help me with x", False),
        ("codex", "big_paste_in_composer", "[Pasted Content 1020 chars]", True),
        ("codex", "approval_dialog", None, False),
        ("codex", "untrusted_dir", None, False),
        ("aider", "ready", "", False),
        ("aider", "busy_with_queued", None, False),
        ("aider", "gitignore_prompt", None, False),
    ],
)
def test_what_stands_in_the_input_line(folder: str, name: str, composer: str | None, folded: bool) -> None:
    got = read(folder, capture(folder, name))
    assert (got.composer, got.folded) == (composer, folded)


def test_a_draft_of_several_lines() -> None:
    claude = capture("claude", "ready").replace("❯\u00a0", "❯\u00a0one\n  two\n\n  three")
    assert (read("claude", claude).composer or "").split() == ["one", "two", "three"]
    codex = capture("codex", "turn_done").replace("› Ask Codex to do anything", "› one\n  two\n\n  three")
    assert (read("codex", codex).composer or "").split() == ["one", "two", "three"]
    drafted = read("aider", capture("aider", "big_paste_in_composer")).composer or ""
    assert drafted.startswith("big paste line 00")


CLAUDE_LOG = "● Bash(cat log)\n  ⎿  API Error: 500 Internal server error\n"
QUOTED = {
    "claude": "● It asked:\n  Do you want to create hello.txt?\n  ❯ 1. Yes\n    2. No\n  Esc to cancel\n",
    "claude-2.1.332": "● The log says `Quick safety check: trust this folder`, Esc to cancel.\n",
    "codex": "• The dialog was:\n  Would you like to run the following command?\n  › 1. Yes, proceed (y)\n"
    "  Press enter to confirm or esc to cancel\n  Worked for 3s • 14:16\n",
}  # fmt: skip


@pytest.mark.parametrize("folder", QUOTED)
def test_a_dialog_that_an_agent_writes_about_is_no_dialog(folder: str) -> None:
    screen = capture(folder, "turn_done" if folder != "claude" else "slowstream_done")
    lines = screen.rstrip("\n").split("\n")
    below = next(i for i, line in reversed(list(enumerate(lines))) if line.startswith(("› ", "────")))
    below -= 2 if folder != "codex" else 0
    assert read(folder, "\n".join([*lines[:below], QUOTED[folder], *lines[below:]])).state == "idle"


def test_an_error_in_what_a_tool_printed_is_no_failed_turn() -> None:
    busy = capture("claude", "busy_with_queued")
    assert read("claude", busy.replace("●\n", CLAUDE_LOG)).state == "busy"
    done = capture("claude", "slowstream_done")
    assert read("claude", done.replace("● Echo", CLAUDE_LOG + "● Echo")).state == "idle"


def test_a_failed_turn_is_over_once_the_next_one_goes_on() -> None:
    failed = capture("claude", "error_final_credit")
    again = failed.replace("✻ Worked for 1s", "❯ once more\n\n● Done.\n\n✻ Worked for 1s")
    assert (read("claude", failed).state, read("claude", again).state) == ("failed_turn", "idle")
    codex = capture("codex", "error_final_401").replace(
        "› Ask", "› again\n\n• Working (3s • esc to interrupt)\n\n› Ask"
    )
    assert read("codex", codex).state == "busy"


def test_an_aider_that_succeeds_after_retries_has_not_failed() -> None:
    after = (
        capture("aider", "retrying_500").split("      ░█ ")[0] + "Done.\n\nTokens: 2.4k sent, 5 received.\n\n>\n"
    )
    assert read("aider", after).state == "idle"


def test_the_title_tells_a_codex_that_streams_from_one_that_waits() -> None:
    streaming = capture("codex", "busy_streaming")
    assert read("codex", streaming, "⠋ title test | x3").state == "busy"
    blocked = read("codex", streaming, "[ ! ] Action Required | x3")
    assert (blocked.state, blocked.cause) == ("blocked", "permission")
    assert read("claude", capture("claude", "ready"), "✳ task").state == "idle"
    assert read("claude", capture("claude", "ready"), "◐ task").state == "busy"


@pytest.mark.parametrize("folder", LABELS)
def test_a_narrow_short_pane_is_read_alike(folder: str) -> None:
    """80x24: lines are cut at the width and only the last rows are there."""
    for name in ("ready", "turn_done", "ready_no_alt_screen"):
        if name in LABELS[folder]:
            rows = [row[:80].rstrip() for row in capture(folder, name).rstrip("\n").split("\n")][-24:]
            assert read(folder, "\n".join(rows)).state == "idle", (folder, name)
