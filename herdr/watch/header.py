"""The line on top: which project, how far it has come, and what keeps it from going on."""

from __future__ import annotations

from textual.content import Content

from herdr.campaign.text import first_line
from herdr.ops.status_snapshot import Head, LiveSnapshot
from herdr.printing.values import number, percent


def header(live: LiveSnapshot, daemon: bool) -> Content:
    """The campaign in a line; what stops it comes first.

    Args:
        live: what of it changes from second to second.
        daemon: whether one runs.
    """
    troubles = []
    if not daemon:
        troubles.append("the daemon is not running: herdr up")
    if live.state != "active":
        why = f" ({live.state_reason})" if live.state_reason else ""
        troubles.append(f"{live.state}{why}")
    if live.held_since:
        troubles.append("nothing is launched: too many starts failed")
    if live.config_error:
        troubles.append("piloop.toml is wrong, the last good one is in force")
    facts = [live.name, *troubles, f"{len(live.agents)} agents", _head(live.head)]
    return Content(first_line(" · ".join(facts), 1000))


def _head(head: Head | None) -> str:
    if head is None:
        return "no head yet"
    text = f"{head.metric} {number(head.value)}"
    if head.gain:
        gain = percent(abs(head.share)).lstrip("+") if head.share is not None else number(abs(head.gain))
        text += f", {gain} {'better' if head.gain > 0 else 'worse'} than the baseline"
    return f"{text} ({head.ref})"
