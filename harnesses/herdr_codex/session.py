"""Read Codex's rollouts: the tokens of an agent and the prompts that it took."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from herdr.api import Usage, json_lines


def rollouts(home: Path) -> list[Path]:
    """The rollouts in a CODEX_HOME, by year, month and day."""
    return sorted(home.glob("sessions/*/*/*/rollout-*.jsonl"))


def usage(home: Path) -> Usage | None:
    """The tokens of all rollouts; None before the first prompt. Each one counts its own total as it goes."""
    files = rollouts(home)
    if not files:
        return None
    totals = [total for file in files if (total := _last_total(file))]
    cached = sum(int(total.get("cached_input_tokens") or 0) for total in totals)
    return Usage(
        # Its input tokens include those it had cached.
        input=sum(int(total.get("input_tokens") or 0) for total in totals) - cached,
        output=sum(int(total.get("output_tokens") or 0) for total in totals),
        cached=cached,
    )


def received(home: Path, text: str) -> bool | None:
    """Whether a prompt of this text was taken; None before the first prompt.

    Args:
        home: the folder that CODEX_HOME names.
        text: as it was typed; white space makes no difference.
    """
    files = rollouts(home)
    if not files:
        return None
    wanted = text.split()
    return any(prompt.split() == wanted for file in files for prompt in prompts(file))


def prompts(file: Path) -> Iterator[str]:
    """The texts that the user sent, with those that Codex adds in the user's name."""
    for payload in _payloads(file, "response_item"):
        if payload.get("type") == "message" and payload.get("role") == "user":
            parts = payload.get("content")
            texts = (
                [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
            )
            yield "".join(text for text in texts if isinstance(text, str))


def _last_total(file: Path) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for payload in _payloads(file, "event_msg"):
        info = payload.get("info")
        # A count without `info` tells only of rate limits.
        if payload.get("type") == "token_count" and isinstance(info, dict):
            total = info.get("total_token_usage") or total
    return total


def _payloads(file: Path, kind: str) -> Iterator[dict[str, Any]]:
    for line in json_lines(file):
        if line.get("type") == kind and isinstance(line.get("payload"), dict):
            yield line["payload"]
