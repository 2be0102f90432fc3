"""Puts a brief together, and makes it fit."""

from __future__ import annotations

from collections.abc import Mapping

from herdr.api import BriefContext
from herdr_briefs import facts
from herdr_briefs.quote import shorten, size
from herdr_briefs.templates import BriefError, Templates

#: What is shortened when a brief is too long, the least needed first.
_PARTS = ("comments", "recent", "texts")
#: How many long texts there are: title, hypothesis, plan, protected files, brief.md, addendum.
_TEXTS = 6

#: What follows the role's own template and the project's texts, for an agent with a run and for one without.
_RUN, _SWEEP = ("piloop", "context"), ("sweep",)

Room = Mapping[str, int]
"""Bytes that the comments, the recent candidates, and each one of the long texts may take; without one: all."""


def compose(context: BriefContext) -> str | None:
    """Compose a brief of at most `context.max_bytes` bytes, saying what was left out and how to read it.

    Raises:
        BriefError: a template is broken, or the templates alone are too long.
    """
    templates = Templates(context.project.path)
    if not templates.has(context.role):
        return None
    brief = _write(context, templates, {})
    if size(brief) <= context.max_bytes:
        return brief
    # From the start, so that one endless plan cannot push out what people decided about the idea.
    room = {"texts": context.max_bytes // _TEXTS}
    for part in _PARTS:
        room[part] = 0
        brief = _write(context, templates, room)
        spare = context.max_bytes - size(brief)
        # There are several long texts, and a fence grows with the backticks inside it.
        while spare > 0:
            wider = _write(context, templates, {**room, part: spare})
            if size(wider) <= context.max_bytes:
                return wider
            spare //= 2
        if spare == 0:
            return brief
    raise BriefError(
        f"the templates of the {context.role} brief take {size(brief):,} bytes, and a brief may have "
        f"{context.max_bytes:,}",
        fix=f"shorten those in {templates.overrides}",
    )


def _write(context: BriefContext, templates: Templates, room: Room) -> str:
    values = facts.values(context, room)
    sections = [
        templates.render(context.role, values),
        _project_text("What the project says", context.repo_brief, "brief.md", context, room),
        _project_text(f"More for a {context.role}", context.addendum, "addendum", context, room),
        *(templates.render(part, values) for part in (_RUN if context.run is not None else _SWEEP)),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _project_text(title: str, text: str, source: str, context: BriefContext, room: Room) -> str:
    """Text of the project's own, for its agents: it instructs, so it is not quoted."""
    if not text.strip():
        return ""
    # The checkout is named only where the text is nowhere else: an agent that is led there may work there.
    where = context.worktree if (context.worktree / source).is_file() else context.project.path
    rest = f"Read the rest of the project's {source} in {where}"
    kept, cut = shorten(text, room.get("texts"), rest)
    return f"# {title}\n\n{kept.strip()}\n\n{cut}".rstrip()
