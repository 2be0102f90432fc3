"""Claude Code: its start, its seeds, its login, its transcript."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from herdr_claude.harness import ClaudeHarness

from herdr.api import Harness, LaunchContext, Usage
from herdr.harness.seeds import write_seeds

Context = Callable[..., LaunchContext]
CLAUDE = ClaudeHarness()


def environ(**more: str) -> dict[str, str]:
    return {"HOME": os.environ["HOME"], "PATH": "", **more}


def seeded(context: LaunchContext, name: str = ".claude.json") -> dict[str, Any]:
    write_seeds(CLAUDE.launch(context).seeds)
    loaded: dict[str, Any] = json.loads((context.profile_dir / name).read_text())
    return loaded


def test_the_prompt_comes_before_the_tools_and_a_flag_after_them(context: Context) -> None:
    given = context(model="opus", settings={"allowed_tools": ["Bash(make *)"]})
    assert CLAUDE.launch(given).argv == (
        "claude", given.prompt, "--model", "opus", "--permission-mode", "acceptEdits",
        "--allowedTools", "Bash(git *)", "Bash(piloop *)", "Bash(make *)", "--session-id", given.session_id,
    )  # fmt: skip
    assert CLAUDE.launch(given).prompt_in_argv
    assert "--model" not in CLAUDE.launch(context()).argv
    assert isinstance(CLAUDE, Harness)


def test_a_headless_one_prints_each_message_and_asks_nothing(context: Context) -> None:
    given = context(mode="headless")
    launch = CLAUDE.launch(given)
    assert launch.argv[:6] == ("claude", "-p", "--output-format", "stream-json", "--verbose", given.prompt)
    assert launch.argv[6:] == CLAUDE.launch(context()).argv[2:]
    assert launch.prompt_in_argv


def test_it_runs_on_a_profile_of_its_own_without_updates(context: Context) -> None:
    launch = CLAUDE.launch(context())
    assert launch.env["CLAUDE_CONFIG_DIR"] == str(context().profile_dir)
    assert launch.env["DISABLE_AUTOUPDATER"] == "1"
    assert "CLAUDECODE" in launch.clear
    assert not set(launch.clear) & set(launch.env)


def test_nothing_is_asked_at_the_start(context: Context) -> None:
    given = context(environ=environ(ANTHROPIC_API_KEY="sk-ant-0123456789abcdefghijklmnop"))
    state = seeded(given)
    assert state["hasCompletedOnboarding"] is True
    assert state["projects"] == {str(given.cwd): {"hasTrustDialogAccepted": True}}
    assert state["customApiKeyResponses"] == {"approved": ["6789abcdefghijklmnop"], "rejected": []}


def test_what_claude_wrote_into_the_profile_stays(context: Context) -> None:
    given = context(environ=environ())
    gone = str(given.cwd.parent / "run-1")
    mine = {"numStartups": 3, "projects": {str(given.cwd): {"lastCost": 1}, "/else": {}, gone: {}}}
    (given.profile_dir / ".claude.json").write_text(json.dumps(mine))
    state = seeded(given)
    assert state["numStartups"] == 3
    assert state["projects"][str(given.cwd)] == {"lastCost": 1, "hasTrustDialogAccepted": True}
    # A worktree that is gone is forgotten, or the file would grow with each run.
    assert set(state["projects"]) == {str(given.cwd), "/else"}
    assert [seed.path.name for seed in CLAUDE.launch(given).seeds] == ["settings.json"]


def test_the_users_login_is_linked_and_their_files_stay_as_they_were(context: Context) -> None:
    user = Path(os.environ["HOME"]) / ".claude"
    user.mkdir()
    (user / ".credentials.json").write_text("{}")
    (user / "settings.json").write_text(
        '{"apiKeyHelper": "pass", "env": {"A": "1"}, "theme": "dark", "hooks": {}}'
    )
    (user.parent / ".claude.json").write_text('{"oauthAccount": {"id": 1}, "projects": {"/mine": {}}}')
    before = {path: path.read_bytes() for path in user.parent.rglob("*") if path.is_file()}
    given = context(environ=environ())
    state, settings = seeded(given), seeded(given, "settings.json")
    assert (given.profile_dir / ".credentials.json").readlink() == user / ".credentials.json"
    assert (state["oauthAccount"], "/mine" in state["projects"]) == ({"id": 1}, False)
    assert settings["apiKeyHelper"] == "pass"
    assert settings["env"]["A"] == "1"
    assert not {"theme", "hooks"} & set(settings)
    assert {path: path.read_bytes() for path in before} == before
    keyed = CLAUDE.launch(context(environ=environ(ANTHROPIC_API_KEY="k" * 30))).seeds
    assert not [seed for seed in keyed if seed.link]


def test_check_says_whether_it_is_there_and_logged_in(program: Callable[..., Path]) -> None:
    assert not CLAUDE.check(environ()).found
    assert "npm install" in CLAUDE.check(environ()).fix
    folder = str(program("claude", "echo '2.1.197 (Claude Code)'"))
    out = CLAUDE.check({**environ(), "PATH": folder})
    assert (out.found, out.version, out.logged_in) == (True, "2.1.197 (Claude Code)", False)
    assert "/login" in out.fix
    assert CLAUDE.check({**environ(ANTHROPIC_API_KEY="x"), "PATH": folder}).logged_in is True


def transcript(context: LaunchContext, lines: list[dict[str, Any]], *, half: str = "") -> None:
    file = context.profile_dir / "projects" / "-some-worktree" / f"{context.session_id}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines) + half)


def answer(identity: str, out: int) -> dict[str, Any]:
    used = {
        "input_tokens": 100,
        "cache_creation_input_tokens": 30,
        "cache_read_input_tokens": 50,
        "output_tokens": out,
    }
    return {"type": "assistant", "message": {"id": identity, "usage": used}}


def test_each_message_counts_once(context: Context) -> None:
    given = context()
    assert CLAUDE.usage(given) is None
    transcript(given, [answer("a", 1), answer("a", 42), answer("b", 8)], half='{"type": "assis')
    assert CLAUDE.usage(given) == Usage(input=260, output=50, cached=100)


def test_a_prompt_is_received_once_the_transcript_has_it(context: Context) -> None:
    given = context()
    assert CLAUDE.received(given, "do it") is None
    result = [{"type": "tool_result", "content": "do it"}]
    transcript(given, [
        {"type": "user", "message": {"content": "one\n  two"}},
        {"type": "user", "message": {"content": result}},
        {"type": "user", "message": {"content": [{"type": "text", "text": "in parts"}]}},
        {"type": "queue-operation", "operation": "enqueue", "content": "while busy"},
    ])  # fmt: skip
    asked = ("one two", "in parts", "while busy", "do it", "one")
    assert [CLAUDE.received(given, text) for text in asked] == [True, True, True, False, False]


def test_usage_and_prompts_of_a_real_transcript(context: Context) -> None:
    given = context()
    lines = (Path(__file__).parent / "samples" / "claude-transcript.jsonl").read_text().splitlines()
    transcript(given, [json.loads(line) for line in lines])
    assert CLAUDE.usage(given) == Usage(input=21_000, output=588, cached=7_000)
    assert CLAUDE.received(given, "B2 typed while busy") is True
    assert CLAUDE.received(given, "131f765 mock edit") is False
