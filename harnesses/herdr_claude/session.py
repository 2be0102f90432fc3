"""Read Claude Code's transcript: the tokens of a session and the prompts that it took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from herdr.api import Usage, json_lines


def transcripts(profile: Path, session_id: str) -> list[Path]:
    """The transcript of a session, wherever it ran, and those of the subagents that it started.

    Args:
        profile: the folder that CLAUDE_CONFIG_DIR names.
        session_id: the id that the agent was launched with.
    """
    projects = profile / "projects"
    return [*projects.glob(f"*/{session_id}.jsonl"), *projects.glob(f"*/{session_id}/**/*.jsonl")]


def usage(profile: Path, session_id: str) -> Usage | None:
    """The tokens of all messages; None before the first prompt.

    A message is written once for each of its parts, with the same id, and counts once.

    Args:
        profile: the folder that CLAUDE_CONFIG_DIR names.
        session_id: the id that the agent was launched with.
    """
    files = transcripts(profile, session_id)
    if not files:
        return None
    messages: dict[str, dict[str, Any]] = {}
    for file in files:
        for line in json_lines(file):
            message = line.get("message")
            if line.get("type") == "assistant" and isinstance(message, dict) and message.get("usage"):
                messages[str(message.get("id"))] = message["usage"]

    def total(*names: str) -> int:
        return sum(int(used.get(name) or 0) for used in messages.values() for name in names)

    return Usage(
        input=total("input_tokens", "cache_creation_input_tokens"),
        output=total("output_tokens"),
        cached=total("cache_read_input_tokens"),
    )


def received(profile: Path, session_id: str, text: str) -> bool | None:
    """Whether a prompt of this text was taken or queued; None before the first prompt.

    Args:
        profile: the folder that CLAUDE_CONFIG_DIR names.
        session_id: the id that the agent was launched with.
        text: as it was typed; white space makes no difference.
    """
    files = transcripts(profile, session_id)
    if not files:
        return None
    wanted = text.split()
    return any(prompt.split() == wanted for file in files for prompt in prompts(file))


def prompts(file: Path) -> Iterator[str]:
    """The texts that somebody typed, without the results of tools, which have the same type."""
    for line in json_lines(file):
        if line.get("type") == "queue-operation":
            content = line.get("content")
        elif line.get("type") == "user" and isinstance(line.get("message"), dict):
            content = line["message"].get("content")
        else:
            continue
        if isinstance(content, str):
            yield content
        elif isinstance(content, list):
            yield from (
                part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str)
            )
