"""A harness that is only an argv: placeholders, models, what it accepts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from herdr.api import Harness, HerdrError, LaunchContext
from herdr.config import HarnessKeys
from herdr.harness.configured import configured
from herdr.harness.template import CommandHarness

Context = Callable[..., LaunchContext]


def define(**keys: object) -> Harness:
    return configured("mine", HarnessKeys(**keys), None)  # type: ignore[arg-type]


def test_every_placeholder_is_replaced(context: Context) -> None:
    words = ("run", "{brief}", "{prompt}", "--model={model}", "{cwd}", "{session_id}", "{log_dir}")
    given = context(model="m1")
    paths = (str(given.brief), given.prompt, "--model=m1", str(given.cwd), given.session_id, str(given.state_dir))
    assert define(interactive=words).launch(given).argv == ("run", *paths)


def test_replacement_is_literal_and_happens_once(context: Context) -> None:
    given = context(prompt="say {model} and \\1 {0}")
    harness = define(interactive=("awk", "{print $1}", "{}", "{unknown}", "{{prompt}}", "{prompt}"))
    assert harness.launch(given).argv[1:] == (
        "{print $1}", "{}", "{unknown}", "{say {model} and \\1 {0}}", "say {model} and \\1 {0}"
    )  # fmt: skip


def test_the_executable_stands_before_the_words_once(context: Context) -> None:
    assert define(executable="a", interactive=("-x",)).launch(context()).argv == ("a", "-x")
    assert define(executable="/opt/a", interactive=("a", "-x")).launch(context()).argv == ("/opt/a", "-x")
    assert define(executable="a").launch(context()).argv == ("a",)


def test_tool_servers_are_no_words_yet(context: Context) -> None:
    assert define(interactive=("a", "{mcp}", "b")).launch(context()).argv == ("a", "b")


def test_each_mode_has_its_own_argv(context: Context) -> None:
    harness = define(interactive=("tui",), headless=("batch", "{prompt}"))
    assert harness.launch(context(mode="headless")).argv[0] == "batch"
    assert harness.launch(context()).argv == ("tui",)
    with pytest.raises(HerdrError, match="no command for headless agents") as caught:
        define(interactive=("tui",)).launch(context(mode="headless"))
    assert "[harness.mine]" in str(caught.value.fix)


def test_a_model_that_is_named_but_not_set_is_an_error(context: Context) -> None:
    harness = define(interactive=("a", "--model", "{model}"))
    assert harness.needs_model
    with pytest.raises(HerdrError, match="needs a model") as caught:
        harness.launch(context())
    assert "[model]" in str(caught.value.fix)
    assert not define(interactive=("a",)).needs_model
    assert define(interactive=("a",), env={"M": "{model}"}).needs_model


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"interactive": ("a", "{prompt}")}, True),
        ({"interactive": ("a", "--file={brief}")}, True),
        ({"interactive": ("a",), "env": {"TASK": "{brief}"}}, True),
        ({"interactive": ("a",), "composer": "^> "}, False),
        ({"interactive": ("a",), "received": "got {text}"}, False),
        ({"interactive": ("a",)}, True),
    ],
)
def test_the_prompt_is_typed_only_where_it_is_missing_and_can_be(
    context: Context, keys: dict[str, object], told: bool
) -> None:
    assert define(**keys).launch(context()).prompt_in_argv is told


def test_text_is_accepted_where_a_rule_can_see_it_arrive() -> None:
    silent, lines, tui = define(), define(received="got {text}"), define(composer="^> ", received="{text}")
    assert [h.send.accepts for h in (silent, lines, tui)] == [False, True, True]
    assert [h.send.while_busy for h in (silent, lines, tui)] == [False, True, False]


def test_the_rules_and_times_of_the_table() -> None:
    harness = define(
        ready="r", busy="b", composer="c", dialogs={"trust": "t", "odd": "o"}, settle=1.5, newline="keep",
        ready_timeout=5.0,
    )  # fmt: skip
    assert (harness.screen.ready, harness.screen.busy, harness.screen.composer) == ("r", "b", "c")
    assert harness.screen.dialogs == {"trust": ("t", "trust"), "odd": ("o", "unknown")}
    assert (harness.send.settle, harness.send.newline, harness.ready_timeout) == (1.5, "keep", 5.0)
    assert harness.ends_when_idle
    assert not define(ready="r").ends_when_idle


def test_environment_values_are_filled_in(context: Context) -> None:
    launch = define(interactive=("a",), env={"LOG": "{log_dir}/log", "JSON": '{"a": 1}'}).launch(context())
    assert launch.env == {"LOG": f"{context().state_dir}/log", "JSON": '{"a": 1}'}


def test_check_looks_on_the_path_of_agents_and_runs_nothing(program: Callable[..., Path], tmp_path: Path) -> None:
    folder = program("mine", f"touch {tmp_path}/ran")
    found = define(interactive=("mine",)).check({"PATH": str(folder)})
    assert (found.found, found.path, found.version) == (True, str(folder / "mine"), None)
    missing = define(executable="mine").check({"PATH": "/nowhere"})
    assert (missing.found, missing.problem) == (False, "mine: not on PATH")
    assert "[harness.mine]" in missing.fix
    assert not (tmp_path / "ran").exists()


def test_check_of_a_harness_without_a_command() -> None:
    status = CommandHarness(name="command").check({})
    assert (status.found, "[harness.command]" in status.fix) == (False, True)


def test_a_file_that_may_not_be_run_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    status = define(executable=str(tmp_path / "plain")).check({"PATH": ""})
    assert (status.found, status.problem) == (False, f"{tmp_path}/plain: not an executable file")
