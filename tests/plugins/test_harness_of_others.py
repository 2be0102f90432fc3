"""A plugin of somebody else with harnesses that are right and wrong, seen through the commands of a person."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import tomli_w

from herdr.cli.checks.project import registered
from herdr.cli.main import run
from herdr.contract.harness import ScreenRules, SendRules
from herdr.plugins import PluginHost

Install = Callable[..., None]
PROJECT = """
name = "tiny"
runtime = "herdr"
evaluate = ["sh", "evaluate.sh"]
[[metrics]]
name = "size"
direction = "lower"
role = "primary"
"""
SMALL = """
from herdr.api import HarnessBase, Launch

class Small(HarnessBase):
    name = "small"
    def launch(self, context):
        return Launch(argv=("small", context.prompt), prompt_in_argv=True)

@hookimpl
def herdr_register_harnesses(register):
    register(Small())
"""
HALF = """
class Half:
    name = "half"
    def check(self, environ): return None

@hookimpl
def herdr_register_harnesses(register):
    register(Half())
"""
MISSING = "it has no screen, send, ready_timeout, needs_model, ends_when_idle, launch, usage, received"
SAID = f"harness half of plugin theirs cannot be used: {MISSING}"


class Typed(NamedTuple):
    """What came of a command line."""

    code: int
    out: str
    err: str


@pytest.fixture
def typed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Typed]:
    """`typed("plugins")` runs `herdr plugins` outside of any project, on a machine with the program `small`."""
    bin_folder, folder = tmp_path / "bin", tmp_path / "nowhere"
    for made in (bin_folder, folder):
        made.mkdir()
    (bin_folder / "small").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    monkeypatch.chdir(folder)

    def type_it(*arguments: str) -> Typed:
        capfd.readouterr()
        # As on a command line: pytest's own handlers would take what Python prints where there are none.
        with monkeypatch.context() as patch:
            patch.setattr(logging.getLogger(), "handlers", [])
            code = run("herdr", arguments)
        return Typed(code, *capfd.readouterr())

    return type_it


def clean(done: Typed) -> str:
    """All that was printed; nothing of it is for the authors of herdr."""
    text = done.out + done.err
    assert "Traceback" not in text
    assert "bug in herdr" not in text
    return text


def test_one_that_inherits_is_used(install: Install, typed: Callable[..., Typed], tmp_path: Path) -> None:
    install("theirs", SMALL)
    assert typed("harness", "list").out.splitlines()[5].split() == [
        "small", "ok", "theirs", str(tmp_path / "bin" / "small"),
    ]  # fmt: skip
    assert "ready within     60 s" in typed("harness", "show", "small").out
    assert typed("harness", "check", "small").code == 0
    assert "ok       harnesses: found small\n" in typed("doctor").out


def test_plugins_names_what_is_missing(install: Install, typed: Callable[..., Typed]) -> None:
    install("theirs", HALF)
    rows = {row["name"]: row for row in json.loads(typed("plugins", "--json").out)}
    assert rows["theirs"]["state"] == "failed"
    assert rows["theirs"]["why"] == f"herdr_register_harnesses: {SAID}"
    assert {row["state"] for name, row in rows.items() if name != "theirs"} == {"ok"}
    assert SAID in clean(typed("plugins"))


def test_harness_list_says_it_and_lists_the_others(install: Install, typed: Callable[..., Typed]) -> None:
    install("theirs", HALF)
    install("others", SMALL)
    done = typed("harness", "list")
    assert (done.code, done.err) == (0, "")
    lines = {line.split()[0]: line.split(maxsplit=3) for line in clean(done).splitlines()}
    assert lines["half"] == ["half", "failed", "theirs", SAID]
    assert lines["small"][1] == "ok"
    assert {"claude", "codex", "aider", "command"} <= set(lines)
    rows = {row["name"]: row for row in json.loads(typed("harness", "list", "--json").out)}
    assert (rows["half"]["from"], rows["half"]["state"], rows["half"]["problem"]) == ("theirs", "failed", SAID)


def test_harness_show_and_check_say_it(install: Install, typed: Callable[..., Typed]) -> None:
    install("theirs", HALF)
    shown = typed("harness", "show", "half")
    assert (shown.code, shown.err.splitlines()[0]) == (1, f"error: {SAID}")
    assert "fix: upgrade the plugin, mend it as docs/plugins.md says, or block it" in clean(shown)
    checked = typed("harness", "check", "half")
    assert (checked.code, checked.out.splitlines()[:2]) == (1, ["half: failed", f"  {SAID}"])
    assert f"  {SAID}" in clean(typed("harness", "check"))
    assert typed("harness", "show", "claude").code == 0


def test_doctor_says_it_as_the_plugins_failure(install: Install, typed: Callable[..., Typed]) -> None:
    install("theirs", HALF)
    install("others", SMALL)
    done = typed("doctor")
    assert f"ERROR    plugins: theirs herdr_register_harnesses: {SAID}\n" in clean(done)
    assert "HERDR_BLOCK_PLUGINS=theirs" in done.out
    assert "ok       harnesses: found small\n" in done.out
    assert done.code == 1


def test_the_log_has_a_line_and_a_traceback_only_of_what_nobody_expected(
    install: Install, caplog: pytest.LogCaptureFixture
) -> None:
    install("theirs", HALF)
    install("others", "@hookimpl\ndef herdr_register_harnesses(register): raise OSError('no disk')")
    registered(PluginHost(environ={}))
    said = {record.getMessage(): bool(record.exc_info) for record in caplog.records}
    assert said == {
        f"plugin theirs failed in herdr_register_harnesses: {SAID}": False,
        "plugin others failed in herdr_register_harnesses: no disk": True,
    }


def test_a_project_that_names_it_is_told(
    install: Install, typed: Callable[..., Typed], make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    install("theirs", HALF)
    text = PROJECT.replace("runtime", 'harnesses = ["half"]\nruntime') + "[harness.half]\nready_timeout = 5\n"
    monkeypatch.chdir(make_repo({"piloop.toml": text}))
    assert f"ERROR    harnesses: harnesses[0] = 'half': {SAID}\n" in clean(typed("doctor"))
    assert typed("harness", "show", "half").err.startswith(f"error: {SAID}\n")


def test_a_check_that_fails_is_the_plugins_failure(install: Install, typed: Callable[..., Typed]) -> None:
    install("theirs", SMALL + "Small.check = lambda self, environ: 1 / 0\n")
    listed = clean(typed("harness", "list"))
    assert "harness small of plugin theirs failed in check: ZeroDivisionError: division by zero (/" in listed
    assert "claude" in listed
    assert "harness small of plugin theirs failed in check" in clean(typed("harness", "show", "small"))
    assert "ERROR    harnesses: harness small of plugin theirs failed in check" in clean(typed("doctor"))


def test_a_plugin_that_fails_before_it_registers_is_named_beside_the_list(
    install: Install, typed: Callable[..., Typed]
) -> None:
    install("theirs", "1 / 0")
    install("others", "@hookimpl\ndef herdr_register_harnesses(register): raise OSError('no disk')")
    done = typed("harness", "list")
    assert "plugin theirs failed: ZeroDivisionError: division by zero" in done.err
    assert "plugin others failed: herdr_register_harnesses: OSError: no disk" in clean(done)
    assert json.loads(typed("harness", "list", "--json").out)


def test_show_prints_every_rule_of_a_table(
    typed: Callable[..., Typed], make_repo: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = msgspec.to_builtins(ScreenRules()).items()
    screen: dict[str, object] = {name: f"rule of {name}" for name, kind in kinds if kind is None}
    screen |= {name: {"odd": ["regex", "quota"]} for name, kind in kinds if kind == {}} | {"lines": 7}
    send = {
        "accepts": True, "while_busy": True, "settle": 2.5, "newline": "keep", "disarm": "~", "disarm_at": True,
        "received": "got {text}",
    }  # fmt: skip
    assert set(screen) == set(ScreenRules.__struct_fields__)
    assert set(send) == set(SendRules.__struct_fields__)
    text = PROJECT + tomli_w.dumps({"harness": {"mine": {**screen, **send}}})
    monkeypatch.chdir(make_repo({"piloop.toml": text}))
    shown = json.loads(typed("harness", "show", "mine", "--json").out)
    assert (shown["screen"], shown["send"]) == (screen, send)
    lines = typed("harness", "show", "mine").out.splitlines()
    said = {" ".join(line.split()[:2]): line for line in lines}
    assert {f"screen {name}" for name in screen} | {f"send {name}" for name in send} <= set(said)
    assert "rule of title_dialog" in said["screen title_dialog"]
    assert msgspec.json.encode(shown["screen"]["dialogs"]) == b'{"odd":["regex","quota"]}'
