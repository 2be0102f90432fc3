"""The engine that reads screens, by small rules of its own; real screens are in test_screens_of_agents."""

from __future__ import annotations

import pytest

from herdr.api import ScreenRules
from herdr.harness.screen import ScreenReading, bottom_lines, read_screen

RULES = ScreenRules(
    ready=r"^status: ready$",
    busy=r"^working",
    composer=r"^> ?(?P<text>[^\n]*)\nstatus",
    placeholder=r"\[Pasted \d+ lines\]",
    hint=r"^Ask anything$",
    block=r"^[>*] ",
    dialogs={"trust": (r"^Trust this folder\?", "trust"), "update": (r"^New version, install\?", "update")},
    failures={"auth": (r"^\* 401 ", "auth"), "any": (r"^\* error", "unknown")},
    retries={"limited": (r"^retrying: 429", "rate_limited")},
    notices={"logged_out": (r"^not logged in", "auth")},
    exits={"refused": (r"^error: bad flag\Z", "config")},
    title_busy="^~",
    title_dialog="^!",
)
IDLE = "> Ask anything\nstatus: ready\n"


def read(text: str, title: str = "") -> ScreenReading:
    return read_screen(RULES, text, title)


@pytest.mark.parametrize(
    ("text", "state", "cause", "rule"),
    [
        (IDLE, "idle", None, "ready"),
        ("> do it\nworking\n" + IDLE, "busy", None, "busy"),
        ("> do it\n* 401 no\n" + IDLE, "failed_turn", "auth", "auth"),
        ("> do it\nretrying: 429\n" + IDLE, "busy", "rate_limited", "limited"),
        ("not logged in\n" + IDLE, "idle", "auth", "logged_out"),
        ("not logged in\n", "unknown", None, ""),
        ("> do it\nworking\nTrust this folder?\n", "blocked", "trust", "trust"),
        ("Trust this folder?\nNew version, install?\n", "blocked", "update", "update"),
        ("Trust this folder?\nerror: bad flag\n", "ended", "config", "refused"),
        ("", "unknown", None, ""),
        ("a screen that nobody knows\n", "unknown", None, ""),
        ("working\nPane is dead (status 3, Mon Nov 30 14:16:54 2026)", "ended", "exited", "dead_pane"),
        ("working\nPane is dead (status 0, Mon Nov 30 14:16:54 2026)", "ended", None, "dead_pane"),
        ("Pane is dead (status 127, Mon Nov 30 14:16:54 2026)", "ended", "not_found", "dead_pane"),
        ("Pane is dead (signal 9, Mon Nov 30 14:16:54 2026)", "ended", "crashed", "dead_pane"),
    ],
)
def test_the_state_and_its_cause(text: str, state: str, cause: str | None, rule: str) -> None:
    got = read(text)
    assert (got.state, got.cause, got.rule) == (state, cause, rule)


def test_of_a_failure_and_a_sign_of_work_the_lower_one_counts() -> None:
    assert read("> a\n* error\nretrying: 429\n" + IDLE).state == "busy"
    assert read("> a\nretrying: 429\n* error\n" + IDLE).state == "failed_turn"


def test_what_stands_above_the_last_block_is_history() -> None:
    assert read("> a\n* error\n> b\nworking\n" + IDLE).state == "busy"
    assert read("> a\nworking\n* done\n" + IDLE).state == "idle"


def test_the_evidence_is_the_whole_line() -> None:
    assert read("> a\n* 401 bad key, see the docs\n" + IDLE).evidence == "* 401 bad key, see the docs"


@pytest.mark.parametrize(
    ("line", "composer", "folded"),
    [
        ("> ", "", False),
        ("> Ask anything", "", False),
        ("> half a sentence ", "half a sentence", False),
        ("> see [Pasted 12 lines]", "see [Pasted 12 lines]", True),
        ("no input line", None, False),
    ],
)
def test_the_composer(line: str, composer: str | None, folded: bool) -> None:
    got = read(f"{line}\nstatus: ready\n")
    assert (got.composer, got.folded) == (composer, folded)


def test_a_draft_is_an_idle_harness_with_a_cause() -> None:
    idle, busy = read("> half\nstatus: ready"), read("> a\nworking\n> half\nstatus: ready")
    assert (idle.state, idle.cause) == ("idle", "draft")
    assert (busy.state, busy.cause, busy.composer) == ("busy", None, "half")


def test_a_composer_without_a_group_is_what_follows_it() -> None:
    rules = ScreenRules(composer=r"^input> ?")
    assert read_screen(rules, "input> some text").composer == "some text"
    assert read_screen(rules, "input>").composer == ""
    assert read_screen(rules, "input>").state == "idle"


@pytest.mark.parametrize(
    ("pattern", "line", "composer"),
    [
        (r"^> (.*)$", "> half", "half"),
        (r"^> (.*)$", ">", ""),
        (r"^(?:>|\$) (.*)$", "$ half", "half"),
        (r"^> (?P<text>.*)$", ">", ""),
        (r"^> (.*?)( <)?$", "> half", ""),
        (r"^> ?(?P<text>\w*)( <)?", "> half <", "half"),
    ],
)
def test_the_only_group_of_a_composer_is_its_text(pattern: str, line: str, composer: str) -> None:
    assert read_screen(ScreenRules(composer=pattern), f"above\n{line}\n").composer == composer


def test_a_rule_may_see_the_blank_at_the_end_of_a_prompt() -> None:
    rules = ScreenRules(ready=r"^> $", composer=r"^> (.*)$", dialogs={"key": (r"^Password: $", "auth")})
    empty = read_screen(rules, "> an earlier text\nan answer\n>\nstatus")
    assert (empty.state, empty.composer, empty.evidence, empty.below) == ("idle", "", ">", ">\nstatus")
    assert read_screen(rules, "> half").state == "unknown"
    assert read_screen(rules, ">\nPassword:").cause == "auth"


def test_the_title_decides_where_the_screen_does_not() -> None:
    assert read(IDLE, "~ task").state == "busy"
    assert (read(IDLE, "! task").state, read(IDLE, "! task").cause) == ("blocked", "permission")
    assert read("> a\n* error\n" + IDLE, "~ task").state == "busy"
    assert read(IDLE, "task").state == "idle"


def test_no_rules_say_nothing() -> None:
    assert read_screen(ScreenRules(), "anything at all\n> \n") == ScreenReading(state="unknown")


def test_only_the_bottom_counts() -> None:
    assert bottom_lines("a\n\nb  \n\n\nc\n\n", 2) == "b\nc"
    far = "Trust this folder?\n" + "line\n" * RULES.lines + IDLE
    assert read(far).state == "idle"
