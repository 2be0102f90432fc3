"""Read what Aider writes: its log of messages and its chat history."""

from __future__ import annotations

from pathlib import Path

from herdr.api import Usage, json_lines

CHAT = "chat.history.md"
ANALYTICS = "analytics.jsonl"
#: Opens each line of a prompt in the chat history.
PROMPT_MARK = "#### "


def usage(state_dir: Path) -> Usage | None:
    """The tokens of every answered message; None before Aider runs. A message that failed is not counted."""
    log = state_dir / ANALYTICS
    if not log.is_file():
        return None
    sent = [line.get("properties") or {} for line in json_lines(log) if line.get("event") == "message_send"]
    costs = [message["cost"] for message in sent if isinstance(message.get("cost"), int | float)]
    return Usage(
        input=sum(int(message.get("prompt_tokens") or 0) for message in sent),
        output=sum(int(message.get("completion_tokens") or 0) for message in sent),
        cost=sum(costs) if costs else None,
    )


def received(state_dir: Path, text: str) -> bool | None:
    """Whether a prompt of this text was taken; None before Aider runs.

    Args:
        state_dir: the agent's state directory, with Aider's chat history.
        text: as it was typed; white space makes no difference.
    """
    try:
        lines = (state_dir / CHAT).read_text(errors="replace").splitlines()
    except OSError:
        return None
    return text.split() in prompts(lines)


def prompts(lines: list[str]) -> list[list[str]]:
    """The words of each prompt; lines of one prompt follow each other."""
    found: list[list[str]] = []
    inside = False
    for line in lines:
        marked = line.startswith(PROMPT_MARK)
        if marked and not inside:
            found.append([])
        if marked:
            found[-1] += line[len(PROMPT_MARK) :].split()
        inside = marked
    return found
