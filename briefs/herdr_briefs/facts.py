"""What a template can say: every value a plain string, and whatever others wrote already quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from herdr.api import BriefContext, CandidateInfo, CommentInfo, IdeaInfo, RunInfo, SweepInfo
from herdr_briefs.quote import block, code, fenced, name, one_line, shorten, size

#: A comment may take at most this part of the room when not all of them fit.
_COMMENT_PART = 4


def values(context: BriefContext, room: Mapping[str, int]) -> dict[str, str]:
    """The values for the templates; an empty string stands for what there is none of.

    A template of a worker's brief is given those of its run as well, one of any other role those of its sweep.

    Args:
        context: what the daemon knows about the agent and its work.
        room: bytes that the comments, the recent candidates and each long text may take; one that is missing has
            no limit.
    """
    own: dict[str, str] = {}
    if context.run is not None and context.idea is not None:
        own = _of_run(context.run, context.idea, context.comments, room)
    elif context.sweep is not None:
        own = _of_sweep(context.sweep, context.pack, room)
    limit = room.get("texts")
    return own | {
        "agent": name(context.agent),
        "role": name(context.role),
        "project": code(context.project.name),
        "worktree": code(str(context.worktree)),
        "workspace": code(str(context.workspace)) if context.workspace else "",
        "linked": _linked(context),
        "time": _time(context.timeout),
        "protected": block("\n".join(context.protected), limit, "`protect` in piloop.toml lists them"),
        "metrics": _metrics(context),
        "base": f"candidate#{context.base.id}",
        "base_about": fenced(_about(context.base)),
        "bar": f"candidate#{context.bar.id}" if context.bar.id != context.base.id else "",
        "bar_about": fenced(_about(context.bar)),
        "recent": _recent(context, room.get("recent")),
    }


def _linked(context: BriefContext) -> str:
    """What the paths are that came from the person's checkout, one line for each kind."""
    words = {
        "view": "{} not committed, a copy of your own: nobody sees what you change there, and it scores nothing.",
        "borrowed": "{} not committed and a person's own: read it, and never change it. Your commits get no"
        " verdict when it has changed.",
        "shared": "{} not committed, shared with everybody, and may be written to.",
    }
    lines = []
    for form, sentence in words.items():
        paths = [code(path) for path, one in context.linked if one == form]
        if paths:
            lines.append("- " + sentence.format(f"{', '.join(paths)} {'is' if len(paths) == 1 else 'are'}"))
    return "\n".join(lines)


def _of_run(
    run: RunInfo, idea: IdeaInfo, comments: Sequence[CommentInfo], room: Mapping[str, int]
) -> dict[str, str]:
    limit = room.get("texts")
    ref = f"idea#{idea.id}"
    see = f"`piloop idea show {ref}` prints it"
    return {
        "run": f"run#{run.id}",
        "attempt": str(run.number),
        "idea": ref,
        "branch": code(run.branch) if run.branch else "",
        "title": block(idea.title, limit, see),
        "hypothesis": block(idea.hypothesis, limit, see),
        "plan": block(idea.plan or "", limit, see),
        "source": name(idea.source),
        "comments": _comments(comments, ref, room.get("comments")),
    }


def _of_sweep(sweep: SweepInfo, pack: str, room: Mapping[str, int]) -> dict[str, str]:
    pack_room = room.get("comments")
    kept, cut = shorten(pack, pack_room, "`piloop history` prints it")
    return {
        "sweep": f"sweep#{sweep.id}",
        "trigger": name(sweep.trigger),
        "ideas": str(sweep.ideas) if sweep.ideas else "",
        "seeds": _seeds(sweep, room.get("texts")),
        "incidents": block(
            "\n".join(one_line(line, 400) for line in sweep.incidents),
            room.get("texts"),
            f'`piloop sql "SELECT at, kind, detail FROM anomalies WHERE sweep_id={sweep.id}"` prints all',  # noqa: S608
        ),
        "pack": f"{kept.strip()}\n\n{cut}".strip(),
    }


def _seeds(sweep: SweepInfo, room: int | None) -> str:
    """Each seed with its hunch and what it points to, in its own block."""
    limit = None if room is None else room // max(1, len(sweep.seeds))
    parts = []
    for seed in sweep.seeds:
        ref = f"idea#{seed.id}"
        text = f"{seed.title}\n\n{seed.hunch}\n\nPoints to: {seed.pointers or '(nothing)'}"
        parts.append(
            f"### {ref}, filed by {name(seed.source)}\n\n{block(text, limit, f'`piloop idea show {ref}`')}"
        )
    return "\n\n".join(parts)


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
