"""What headless agents print when something is wrong, read by the rules of their plugins."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from herdr.api import ScreenRules
from herdr.harness.screen import read_output, read_screen

ROOT = Path(__file__).parents[2]

CLAUDE = '{{"type":"result","subtype":"success","is_error":{},"api_error_status":{},"result":"{}","num_turns":1}}'
CODEX = '{{"type":"turn.failed","error":{{"message":"{}"}}}}'
CASES = [
    ("claude", CLAUDE.format("true", "401", "Invalid API key · Fix external API key"), "auth"),
    ("claude", CLAUDE.format("true", "null", "Not logged in · Please run /login"), "auth"),
    ("claude", "Not logged in · Please run /login", "auth"),
    ("claude", CLAUDE.format("true", "400", "Credit balance is too low"), "quota"),
    ("claude", CLAUDE.format("true", "429", "You've hit your session limit"), "quota"),
    ("claude", CLAUDE.format("true", "429", "API Error: Request rejected (429)"), "rate_limited"),
    ("claude", CLAUDE.format("true", "404", "There's an issue with the selected model"), "model"),
    ("claude", CLAUDE.format("true", "529", "API Error: Repeated 529 Overloaded errors"), "overloaded"),
    ("claude", CLAUDE.format("true", "null", "API Error: Unable to connect to API"), "unreachable"),
    ("claude", CLAUDE.format("true", "400", "Prompt is too long"), "context"),
    ("claude", CLAUDE.format("true", "400", "something new"), "unknown"),
    ("claude", "error: unknown option '--wat'", "config"),
    ("claude", CLAUDE.format("false", "null", "I explained 401, Invalid API key and usage limits"), None),
    ("codex", CODEX.format("unexpected status 401 Unauthorized: Incorrect API key provided"), "auth"),
    ("codex", CODEX.format("Quota exceeded. Check your plan and billing details."), "quota"),
    ("codex", CODEX.format("exceeded retry limit, last status: 429 Too Many Requests"), "rate_limited"),
    ("codex", CODEX.format("The model `x` does not exist or you do not have access to it."), "model"),
    ("codex", CODEX.format("Codex ran out of room in the model's context window"), "context"),
    ("codex", CODEX.format("Selected model is at capacity"), "overloaded"),
    ("codex", CODEX.format("stream disconnected before completion"), "unreachable"),
    ("codex", CODEX.format("something new"), "unknown"),
    ("codex", '{"type":"error","message":"Reconnecting... 2/5 (unexpected status 401)"}', None),
    ("codex", '{"type":"item.completed","item":{"type":"agent_message","text":"turn.failed 401"}}', None),
    ("aider", "litellm.AuthenticationError: OpenAIException - Incorrect API key\nCheck your API key.", "auth"),
    ("aider", "litellm.RateLimitError: OpenAIException -\nYou exceeded your current quota, check", "quota"),
    ("aider", "litellm.RateLimitError: slow down", "rate_limited"),
    ("aider", "litellm.InternalServerError: OpenAIException - Connection error.", "unreachable"),
    ("aider", "litellm.InternalServerError: boom", "overloaded"),
    ("aider", "aider: error: unrecognized arguments: --wat", "config"),
    ("aider", "litellm.RateLimitError: slow down\nRetrying in 0.2 seconds\nTokens: 2k sent, 22 received.", None),
]


def rules(harness: str) -> ScreenRules:
    path = ROOT / "harnesses" / f"herdr_{harness}" / "screen.toml"
    return msgspec.toml.decode(path.read_bytes(), type=ScreenRules)


@pytest.mark.parametrize(("harness", "said", "cause"), CASES)
def test_the_cause_is_told_from_the_last_lines(harness: str, said: str, cause: str | None) -> None:
    reading = read_output(rules(harness), f"earlier output\n{said}\n")
    assert (reading.state, reading.cause) == ("busy", cause)
    assert bool(reading.evidence) == (cause is not None)


def test_rules_of_the_screen_say_nothing_about_output() -> None:
    screen = ScreenRules(composer="^> ", busy="working", failures={"a": ("broken", "auth")})
    assert read_screen(screen, "broken").cause == "auth"
    assert read_output(screen, "broken\n> ").cause is None
