"""Codex: its start, its home, its login, its rollouts."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from herdr_codex import home
from herdr_codex.harness import CodexHarness

from herdr.api import Harness, HerdrError, LaunchContext, Usage
from herdr.harness.seeds import write_seeds

Context = Callable[..., LaunchContext]
CODEX = CodexHarness()
SAMPLES = Path(__file__).parent / "samples"


def environ(**more: str) -> dict[str, str]:
    return {"HOME": os.environ["HOME"], "PATH": "", **more}


def seeded(context: LaunchContext) -> dict[str, Any]:
    write_seeds(CODEX.launch(context).seeds)
    config: dict[str, Any] = msgspec.toml.decode((home.folder(context) / "config.toml").read_bytes())
    return config


def user_config(text: str) -> Path:
    folder = Path(os.environ["HOME"]) / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(text)
    return folder


def test_it_starts_without_its_daemon_and_with_the_prompt(context: Context) -> None:
    launch = CODEX.launch(context(model="gpt"))
    assert launch.argv == ("codex", "--no-daemon", "--no-alt-screen", "--model", "gpt", context().prompt)
    assert launch.env == {"CODEX_HOME": str(context().state_dir / "codex")}
    assert launch.prompt_in_argv
    assert isinstance(CODEX, Harness)


def test_a_headless_one_prints_events_and_needs_no_trust(context: Context) -> None:
    given = context(mode="headless", model="gpt")
    launch = CODEX.launch(given)
    exec_json = ("codex", "exec", "--json", "--skip-git-repo-check")
    assert launch.argv == (*exec_json, "--model", "gpt", given.prompt)
    assert launch.prompt_in_argv
    assert launch.env == CODEX.launch(context()).env


def test_nothing_is_asked_and_the_sandbox_stays_on(context: Context) -> None:
    config = seeded(context(environ=environ()))
    assert (config["approval_policy"], config["sandbox_mode"]) == ("never", "workspace-write")
    assert config["projects"] == {str(context().cwd): {"trust_level": "trusted"}}
    assert config["check_for_update_on_startup"] is False
    assert config["shell_environment_policy"]["ignore_default_excludes"] is True


def test_another_sandbox_must_be_one_that_codex_has(context: Context) -> None:
    full = context(environ=environ(), settings={"sandbox": "danger-full-access"})
    assert seeded(full)["sandbox_mode"] == "danger-full-access"
    with pytest.raises(HerdrError, match="no such sandbox"):
        CODEX.launch(context(environ=environ(), settings={"sandbox": "off"}))


def test_the_worktree_is_trusted_by_both_its_names(context: Context, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    config = seeded(context(environ=environ(), cwd=tmp_path / "link"))
    assert set(config["projects"]) == {str(tmp_path / "link"), str(tmp_path / "real")}


def test_a_commit_can_be_made_in_the_runs_repository_and_nowhere_else(context: Context, tmp_path: Path) -> None:
    def roots(**given: Path) -> list[str]:
        made = seeded(context(environ=environ(), **given))
        return list(made["sandbox_workspace_write"]["writable_roots"])

    repository = tmp_path / "run-1.git"
    admin = repository / "worktrees" / "worktree"
    # The worktree's folder by itself: inside a writable root Codex protects it all the same.
    assert roots(git_dir=repository, git_admin=admin) == [str(repository), str(admin)]
    # What an agent wrote there is not obeyed.
    (context().cwd / ".git").write_text("gitdir: /home\n")
    assert roots() == []


def test_model_and_provider_are_the_users_and_nothing_else_is(context: Context) -> None:
    folder = user_config(
        'model = "m"\nmodel_provider = "p"\nnotify = ["x"]\n'
        '[model_providers.p]\nname = "p"\nenv_key = "P_KEY"\n[mcp_servers.s]\ncommand = "s"\n'
    )
    (folder / "auth.json").write_text("{}")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    config = seeded(context(environ=environ()))
    assert (config["model"], config["model_providers"]) == ("m", {"p": {"name": "p", "env_key": "P_KEY"}})
    assert not {"notify", "mcp_servers"} & set(config)
    assert (home.folder(context()) / "auth.json").readlink() == folder / "auth.json"
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_key_of_the_environment_becomes_a_login(context: Context) -> None:
    given = context(environ=environ(OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://localhost/v1"))
    assert seeded(given)["openai_base_url"] == "http://localhost/v1"
    file = home.folder(given) / "auth.json"
    assert json.loads(file.read_text()) == {"OPENAI_API_KEY": "sk-1"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_check_says_why_it_cannot_log_in(program: Callable[..., Path]) -> None:
    assert "npm install" in CODEX.check(environ()).fix
    found = {**environ(), "PATH": str(program("codex", "echo codex-cli 0.171.0"))}
    status = CODEX.check(found)
    assert (status.version, status.logged_in, "codex login" in status.fix) == ("codex-cli 0.171.0", False, True)
    assert CODEX.check({**found, "OPENAI_API_KEY": "x"}).logged_in is True
    user_config('model_provider = "p"\n[model_providers.p]\nenv_key = "P_KEY"\n')
    assert "$P_KEY" in CODEX.check(found).problem
    assert CODEX.check({**found, "P_KEY": "x"}).logged_in is True


def test_usage_and_prompts_of_a_real_rollout(context: Context) -> None:
    given = context()
    assert (CODEX.usage(given), CODEX.received(given, "x")) == (None, None)
    day = home.folder(given) / "sessions/2026/11/30"
    day.mkdir(parents=True)
    shutil.copy(SAMPLES / "codex-rollout.jsonl", day / "rollout-2026-11-30T14-01-10-01a22cc1.jsonl")
    assert CODEX.usage(given) == Usage(input=8000, output=336, cached=4000)
    asked = ("# remember hash", "ends with semicolon", "Echo: # remember hash", "remember")
    assert [CODEX.received(given, text) for text in asked] == [True, True, False, False]
