"""Harnesses by name: plugins, tables of piloop.toml, what is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from herdr.api import (
    Harness,
    HarnessStatus,
    HerdrError,
    Launch,
    LaunchContext,
    ScreenRules,
    Seed,
    SendRules,
    Usage,
    check_program,
)
from herdr.config import HarnessKeys
from herdr.harness.registry import Harnesses
from herdr.harness.seeds import write_seeds
from herdr.harness.template import CommandHarness


class Written:
    """A harness as a plugin writes one."""

    screen = ScreenRules(ready="own", dialogs={"trust": ("own", "trust")})
    send = SendRules(disarm="~")
    ready_timeout = 30.0
    needs_model = False
    ends_when_idle = True

    def __init__(self, name: str) -> None:
        self.name = name

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        return check_program(self.name, environ)

    def launch(self, context: LaunchContext) -> Launch:
        argv = (self.name, "--mode", context.mode, context.prompt)
        return Launch(argv=argv, env={"A": "1"}, clear=("B",), prompt_in_argv=True)

    def usage(self, context: LaunchContext) -> Usage | None:
        return Usage(input=1)

    def received(self, context: LaunchContext, text: str) -> bool | None:
        return True


def registry(*names: str) -> Harnesses:
    known = Harnesses()
    for name in names:
        known.registrar(f"plugin-{name}")(Written(name))
    return known


def test_a_harness_as_a_plugin_writes_one_fits_the_protocol() -> None:
    assert isinstance(Written("a"), Harness)
    assert isinstance(CommandHarness(name="a"), Harness)


def test_a_second_harness_of_one_name_names_both_plugins() -> None:
    known = registry("claude")
    with pytest.raises(HerdrError, match="by the plugins plugin-claude and other") as caught:
        known.registrar("other")(Written("claude"))
    assert "HERDR_BLOCK_PLUGINS=other" in str(caught.value.fix)


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    known = registry("codex", "claude", "zeta")
    with pytest.raises(HerdrError, match="no harness is called cladue; there are claude, codex, zeta") as caught:
        known.get("cladue")
    assert "did you mean claude?" in str(caught.value.fix)
    with pytest.raises(HerdrError) as caught:
        known.get("qqq")
    assert "[harness.qqq]" in str(caught.value.fix)


def test_the_rotation_is_what_is_installed_in_a_fixed_order(program: Callable[..., Path]) -> None:
    known = registry("zeta", "aider", "codex", "claude", "alpha", "command")
    for name in ("zeta", "aider", "claude", "alpha", "command"):
        folder = program(name)
    assert known.available({"PATH": str(folder)}) == ["claude", "aider", "alpha", "zeta"]


def test_a_table_defines_a_harness_for_its_project_only(context: Callable[..., LaunchContext]) -> None:
    known = registry("claude")
    own = known.configured({"mine": HarnessKeys(interactive=("run", "{brief}"))})
    assert own.get("mine").launch(context()).argv[0] == "run"
    assert own.origin["mine"] == "piloop.toml"
    assert known.names() == ["claude"]


def test_a_table_overrides_only_the_keys_it_has(context: Callable[..., LaunchContext]) -> None:
    keys = HarnessKeys(
        executable="/opt/x", env={"B": "{session_id}"}, ready="mine", dialogs={"update": "u"}, settle=2.0,
        ready_timeout=99.0,
    )  # fmt: skip
    harness = registry("claude").configured({"claude": keys}).get("claude")
    launch = harness.launch(context())
    assert launch.argv == ("/opt/x", "--mode", "interactive", context().prompt)
    assert launch.env == {"A": "1", "B": context().session_id}
    assert (launch.clear, launch.prompt_in_argv) == ((), True)
    assert (harness.screen.ready, set(harness.screen.dialogs)) == ("mine", {"trust", "update"})
    assert (harness.send.settle, harness.send.disarm, harness.ready_timeout) == (2.0, "~", 99.0)
    assert (harness.usage(context()), harness.ends_when_idle) == (Usage(input=1), True)
    assert isinstance(harness, Harness)


def test_an_argv_of_the_persons_own_replaces_that_of_its_mode(context: Callable[..., LaunchContext]) -> None:
    keys = HarnessKeys(interactive=("-m", "{model}"))
    harness = registry("claude").configured({"claude": keys}).get("claude")
    launch = harness.launch(context(model="m"))
    assert (launch.argv, launch.prompt_in_argv, launch.env) == (("claude", "-m", "m"), False, {"A": "1"})
    assert harness.launch(context(mode="headless")).argv[2] == "headless"
    assert harness.needs_model


def test_check_of_an_overridden_executable_looks_for_that(program: Callable[..., Path]) -> None:
    folder = program("other", "echo; echo other 2.0")
    harness = registry("claude").configured({"claude": HarnessKeys(executable="other")}).get("claude")
    status = harness.check({"PATH": str(folder)})
    assert (status.path, status.version) == (str(folder / "other"), "other 2.0")


def test_a_program_that_fails_to_tell_its_version_is_still_found(program: Callable[..., Path]) -> None:
    status = check_program("odd", {"PATH": str(program("odd", "echo no >&2; exit 3"))})
    assert (status.found, status.version) == (True, None)


def test_seeds_are_written_with_their_mode_and_never_over_what_must_stay(tmp_path: Path) -> None:
    login, path, link = tmp_path / "login", tmp_path / "a/b/seed", tmp_path / "a/link"
    seeds = [Seed(path=path, content="one"), Seed(path=link, link=login)]
    assert write_seeds(seeds) == [path, link]
    assert (path.read_text(), path.stat().st_mode & 0o777, link.readlink()) == ("one", 0o600, login)
    assert write_seeds([Seed(path=path, content="two", replace=False), seeds[1]]) == []
    assert path.read_text() == "one"
    assert write_seeds([Seed(path=path, content="two"), Seed(path=link, content="own")]) == [path, link]
    assert (path.read_text(), link.is_symlink(), login.exists()) == ("two", False, False)


def test_a_seed_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(HerdrError, match="file"):
        write_seeds([Seed(path=tmp_path / "file" / "seed", content="x")])
