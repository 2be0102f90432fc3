"""`[harness.<name>]` says all that a harness written in Python says of its screen and of typing into it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli_w

from herdr.config import ConfigError, HarnessKeys, read_config
from herdr.contract.harness import Harness, HarnessBase, ScreenRules, SendRules
from herdr.harness.configured import configured
from herdr.harness.template import CommandHarness

PROJECT: Mapping[str, Any] = {
    "name": "p",
    "evaluate": ["./bench"],
    "metrics": [{"name": "score", "direction": "higher", "role": "primary"}],
}
#: Of each rule a value that is not its default; a new rule has to have one here.
SCREEN: Mapping[str, Any] = {
    "ready": "^ready",
    "busy": "^busy",
    "composer": "^> (?P<text>.*)$",
    "placeholder": "^pasted",
    "hint": "Ask .*",
    "block": "^> ",
    "dialogs": {"permission": ("^may I", "permission"), "odd": ("^odd", "unknown")},
    "failures": {"no_money": ("^no money", "quota")},
    "retries": {"later": ("^trying", "overloaded")},
    "notices": {"out": ("^logged out", "auth")},
    "exits": {"usage": ("^usage:", "config")},
    "output": {"bad": ("^bad model", "model")},
    "ended": "^bye",
    "title_busy": "^working",
    "title_dialog": "^asking",
    "lines": 33,
}
SEND: Mapping[str, Any] = {
    "accepts": False,
    "while_busy": True,
    "settle": 1.5,
    "newline": "keep",
    "disarm": "~",
    "disarm_at": True,
    "received": "^got {text}",
}
#: A harness that says something else everywhere.
OTHER = ScreenRules(ready="other", dialogs={"trust": ("other", "trust"), "odd": ("other", "auth")}, lines=7)
BASES = (None, CommandHarness(name="mine", screen=OTHER, send=SendRules(accepts=True)))


def keys_of(folder: Path, table: Mapping[str, Any]) -> HarnessKeys:
    (folder / "piloop.toml").write_text(tomli_w.dumps({**PROJECT, "harness": {"mine": table}}))
    return read_config(folder, {}).harness["mine"]


def mistakes(folder: Path, table: Mapping[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        keys_of(folder, table)
    return [str(mistake) for mistake in caught.value.mistakes]


class Plugin(HarnessBase):
    name = "mine"
    screen = OTHER
    send = SendRules()


def test_every_rule_is_a_key_and_is_tried_here() -> None:
    assert set(SCREEN) == set(ScreenRules.__struct_fields__)
    assert set(SEND) == set(SendRules.__struct_fields__)
    assert {*SCREEN, *SEND} <= set(HarnessKeys.__struct_fields__)


@pytest.mark.parametrize("base", [*BASES, Plugin()], ids=["new", "command", "plugin"])
@pytest.mark.parametrize("key", [*SCREEN, *SEND])
def test_each_key_reaches_the_harness(tmp_path: Path, base: Harness | None, key: str) -> None:
    part, rules = ("screen", SCREEN) if key in SCREEN else ("send", SEND)
    harness = configured("mine", keys_of(tmp_path, {key: rules[key]}), base)
    said, default = getattr(getattr(harness, part), key), getattr(getattr(base, part, None), key, {})
    assert said == ({**default, **rules[key]} if isinstance(rules[key], dict) else rules[key])
    assert said != default


@pytest.mark.parametrize("name", ["aider", "claude", "codex"])
def test_a_built_in_can_be_written_as_a_table(tmp_path: Path, name: str) -> None:
    one: Harness = getattr(import_module(f"herdr_{name}.harness"), f"{name.capitalize()}Harness")()
    table = msgspec.to_builtins(one.screen) | msgspec.to_builtins(one.send)
    given = {key: value for key, value in table.items() if value is not None}
    harness = configured("mine", keys_of(tmp_path, given), None)
    assert (harness.screen, harness.send) == (one.screen, one.send)


@pytest.mark.parametrize("table", [key for key, value in SCREEN.items() if isinstance(value, dict)])
def test_a_rule_without_a_cause_has_that_of_its_name(tmp_path: Path, table: str) -> None:
    keys = keys_of(tmp_path, {table: {"quota": "a", "odd": "b"}})
    rules = getattr(configured("mine", keys, None).screen, table)
    assert rules == {"quota": ("a", "quota"), "odd": ("b", "unknown")}


def test_what_is_said_of_accepting_beats_what_the_rules_suggest(tmp_path: Path) -> None:
    silent = configured(
        "mine", keys_of(tmp_path, {"received": "{text}", "accepts": False, "while_busy": False}), None
    )
    assert (silent.send.accepts, silent.send.while_busy) == (False, False)
    assert configured("mine", keys_of(tmp_path, {"accepts": True}), None).send.accepts


def test_every_mistake_in_the_rules_is_a_line(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        {
            "placeholder": "(",
            "lines": 0,
            "accepts": "yes",
            "received": "^got it",
            "failures": {
                "a": ["[", "quota"],
                "b": ["fine", "qota"],
                "c": ["fine"],
                "d": 1,
                "e": ["fine", "cheese"],
            },
        },
    )
    starts = [
        "harness.mine.placeholder = '(': not a regular expression: missing ), ",
        "harness.mine.lines = 0: out of range. Fix: use a number at least 1.",
        "harness.mine.accepts = 'yes': not true or false. Fix: write true or false, without quotes.",
        "harness.mine.received = '^got it': does not say where the text stands. Fix: write {text} in it",
        "harness.mine.failures.a[0] = '[': not a regular expression: ",
        "harness.mine.failures.b[1] = 'qota': not one of api_key, auth, config, context, ",
        "harness.mine.failures.c = ['fine']: has 1 parts, not 2. Fix: give [a string, \"api_key\" or ",
        "harness.mine.failures.d = 1: not a string. Fix: put it in quotes.",
        "harness.mine.failures.e[1] = 'cheese': not one of ",
    ]
    assert [line[: len(start)] for line, start in zip(found, starts, strict=True)] == starts
    assert any("did you mean `quota`?" in line for line in found)


def test_a_table_that_the_daemon_stored_comes_back_equal(tmp_path: Path) -> None:
    keys = keys_of(tmp_path, {**SCREEN, **SEND})
    assert msgspec.json.decode(msgspec.json.encode(keys), type=HarnessKeys) == keys
