"""What a template can say: every value a plain string, and whatever others wrote already quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from herdr.api import BriefContext, CandidateInfo, CommentInfo
from herdr_briefs.quote import block, code, fenced, name, one_line, size

#: A comment may take at most this part of the room when not all of them fit.
_COMMENT_PART = 4


def values(context: BriefContext, room: Mapping[str, int]) -> dict[str, str]:
    """The values for the templates; an empty string stands for what there is none of."""
    limit = room.get("texts")
    idea = f"idea#{context.idea.id}"
    see_idea = f"`piloop idea show {idea}` prints it"
    return {
        "agent": name(context.agent),
        "role": name(context.role),
        "project": code(context.project.name),
        "run": f"run#{context.run.id}",
        "attempt": str(context.run.number),
        "idea": idea,
        "worktree": code(str(context.worktree)),
        "branch": code(context.run.branch) if context.run.branch else "",
        "workspace": code(str(context.workspace)) if context.workspace else "",
        "time": _time(context.timeout),
        "title": block(context.idea.title, limit, see_idea),
        "hypothesis": block(context.idea.hypothesis, limit, see_idea),
        "plan": block(context.idea.plan or "", limit, see_idea),
        "source": name(context.idea.source),
        "protected": block("\n".join(context.protected), limit, "`protect` in piloop.toml lists them"),
        "metrics": _metrics(context),
        "base": f"candidate#{context.base.id}",
        "base_about": fenced(_about(context.base)),
        "bar": f"candidate#{context.bar.id}" if context.bar.id != context.base.id else "",
        "bar_about": fenced(_about(context.bar)),
        "recent": _recent(context, room.get("recent")),
        "comments": _comments(context.comments, idea, room.get("comments")),
    }


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def _about(candidate: CandidateInfo) -> str:
    return f"{candidate.commit[:12]} {one_line(candidate.subject, 200)}"


def _metrics(context: BriefContext) -> str:
    header = ("metric", "better", "role", f"candidate#{context.base.id}")
    rows = [
        (one_line(metric, 80), direction, role, _number(context.base_metrics.get(metric)))
        for metric, direction, role in context.metrics
    ]
    return fenced("\n".join(_aligned([header, *rows])))


def _recent(context: BriefContext, room: int | None) -> str:
    if not context.recent:
        return ""
    names = [metric for metric, _, role in context.metrics if role != "watch"]
    rows = [_recent_row(candidate, metrics, names) for candidate, metrics in context.recent]
    lines = _aligned(
        [("candidate", "verdict", "run", *(one_line(metric, 40) for metric in names), "what"), *rows]
    )
    kept = _fitting(lines, room)
    table = fenced("\n".join(kept)) if len(kept) > 1 else ""
    left_out = len(lines) - max(1, len(kept))
    cut = f"(Left out here: the {left_out:,} oldest of {len(rows):,}. `piloop candidate list` prints them.)"
    return f"{table}\n\n{cut if left_out else ''}".strip()


def _recent_row(candidate: CandidateInfo, metrics: Mapping[str, float], names: Sequence[str]) -> tuple[str, ...]:
    run = f"run#{candidate.run_id}" if candidate.run_id is not None else "-"
    what = one_line(candidate.subject, 80)
    if candidate.reason:
        what += f" | {one_line(candidate.reason, 160)}"
    numbers = (_number(metrics.get(metric)) for metric in names)
    return f"candidate#{candidate.id}", candidate.verdict or "not yet", run, *numbers, what


def _comments(comments: Sequence[CommentInfo], idea: str, room: int | None) -> str:
    if not comments:
        return ""
    limit = None if room is None else room // _COMMENT_PART
    newest_first = (_comment(comment, limit) for comment in reversed(comments))
    kept = _fitting(newest_first, room)
    left_out = len(comments) - len(kept)
    cut = (
        f"(Left out here: the {left_out:,} oldest of {len(comments):,}. `piloop comment list {idea}` prints "
        "those on the idea, and the same with an earlier run those on that run.)"
    )
    return "\n\n".join([cut] * bool(left_out) + kept[::-1])


def _comment(comment: CommentInfo, limit: int | None) -> str:
    head = f"comment#{comment.id}: {name(comment.kind)} by {name(comment.author)} on {name(comment.target)}"
    query = f'`piloop sql "SELECT body FROM comments WHERE id={comment.id}"` prints it'  # noqa: S608 - never run here
    return f"{head}, {name(comment.created_at)}\n\n{block(comment.body, limit, query)}".rstrip()


def _fitting(parts: Iterable[str], room: int | None) -> list[str]:
    """The first of `parts` that fit into `room` bytes, with a blank line between them."""
    kept: list[str] = []
    used = 0
    for part in parts:
        used += size(part) + 2
        if room is not None and used > room:
            break
        kept.append(part)
    return kept


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.10g}"
