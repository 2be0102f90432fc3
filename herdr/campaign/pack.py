"""The research pack: what a campaign has tried and found, in a text of bounded size."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from herdr.campaign.text import first_line

#: Bytes of the whole pack, and of one of its parts: an agent's context is not for history alone.
PACK_BYTES = 44_000
PART_BYTES = 9_000
#: Characters of a finding; the whole of it is a query away.
FINDING = 800


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the ideas of one family."""

    family: str
    ideas: int
    open: int
    done: int
    parked: int
    rejected: int
    kept: int


class Yield(msgspec.Struct, frozen=True, kw_only=True):
    """How many of a source's ideas produced a keep."""

    source: str
    ideas: int
    kept: int


class TriedIdea(msgspec.Struct, frozen=True, kw_only=True):
    """An idea, the best that came of it, and the first line of its latest finding."""

    ref: str
    title: str
    status: str
    source: str
    family: str | None
    best: str | None
    value: float | None
    verdict: str | None
    finding: str | None


class StartingPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate that can be started from; `share` is its gain over its bar."""

    ref: str
    parent: str | None
    commit: str
    subject: str
    value: float | None
    share: float | None
    why: str | None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """A comment, what it is about and by whom."""

    ref: str
    about: str
    author: str
    body: str


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A seed, or an idea that is still to be tried."""

    ref: str
    title: str
    status: str
    priority: int
    provenance: str | None


class Pack(msgspec.Struct, frozen=True, kw_only=True):
    """All that the pack tells, the newest first in each part."""

    metric: str
    direction: str
    start: float | None
    head: float | None
    sources: Sequence[Yield]
    families: Sequence[Family]
    tried: Sequence[TriedIdea]
    lineage: Sequence[StartingPoint]
    starting_points: Sequence[StartingPoint]
    waiting: Sequence[Waiting]
    findings: Sequence[Said]
    decisions: Sequence[Said]
    escalations: Sequence[Said]


def render(pack: Pack) -> str:
    """Write the pack as Markdown of at most `PACK_BYTES` bytes; it says what was left out, and how to read that.

    Whatever others wrote is on one line, or quoted line by line, so that it is read as data.
    """
    parts = [
        f"# What this campaign has tried\n\n{_goal(pack)}",
        _part("Ideas by source", [_source(one) for one in pack.sources], "piloop status"),
        _part("Tried, by family", [_family(one) for one in pack.families], "piloop idea list --family NAME"),
        _part(
            "Kept, the head first", [_step(one) for one in pack.lineage], "piloop candidate list --verdict keep"
        ),
        _part(
            "Starting points beside the head",
            [_step(one) for one in pack.starting_points],
            "piloop candidate list",
        ),
        _part("To be tried", [_waiting(one) for one in pack.waiting], "piloop idea list"),
        _part("Findings", [_said(one, FINDING) for one in pack.findings], "piloop comment list --kind finding"),
        _part(
            "Decisions", [_said(one, FINDING) for one in pack.decisions], "piloop comment list --kind decision"
        ),
        _part("Open escalations", [_said(one, FINDING) for one in pack.escalations], "piloop inbox"),
    ]
    used = sum(_size(part) + 2 for part in parts)
    # What was tried takes all the room that the rest leaves.
    tried = [_tried(one) for one in pack.tried]
    parts.insert(
        3, _part("Tried, the newest first", tried, "piloop idea list --status done", PACK_BYTES - used - 200)
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _part(title: str, lines: Sequence[str], rest: str, room: int = PART_BYTES) -> str:
    kept: list[str] = []
    for line in lines:
        room -= _size(line) + 1
        if room < 0:
            break
        kept.append(line)
    left_out = len(lines) - len(kept)
    if left_out:
        kept.append(f"({left_out} more: `{rest}`)")
    return f"## {title}\n\n" + "\n".join(kept) if kept else ""


def _goal(pack: Pack) -> str:
    return (
        f"The metric is {pack.metric}, {pack.direction} is better. The campaign began at {_number(pack.start)};"
        f" the head is at {_number(pack.head)}."
    )


def _source(one: Yield) -> str:
    return f"- {one.source}: {one.ideas} ideas, {one.kept} with a keep"


def _family(one: Family) -> str:
    counts = (("open", one.open), ("done", one.done), ("parked", one.parked), ("rejected", one.rejected))
    said = ", ".join(f"{count} {word}" for word, count in counts if count)
    return f"- {_line(one.family, 80)}: {one.ideas} ideas ({said}), {one.kept} with a keep"


def _tried(one: TriedIdea) -> str:
    family = f", {_line(one.family, 40)}" if one.family else ""
    best = f": {one.verdict or 'not judged'} {_number(one.value)} ({one.best})" if one.best else ""
    finding = f"; found: {_line(one.finding, 160)}" if one.finding else ""
    return f"- {one.ref} ({one.status}, by {one.source}{family}) {_line(one.title, 100)}{best}{finding}"


def _step(one: StartingPoint) -> str:
    gain = f", {one.share * 100:+.3g} %" if one.share is not None else ""
    parent = f" from {one.parent}" if one.parent else ""
    why = f" | {_line(one.why, 160)}" if one.why else ""
    return f"- {one.ref}{parent} {one.commit[:12]}: {_number(one.value)}{gain}. {_line(one.subject, 100)}{why}"


def _waiting(one: Waiting) -> str:
    prompted = f" (from: {_line(one.provenance, 120)})" if one.provenance else ""
    return f"- {one.ref} ({one.status}, priority {one.priority}) {_line(one.title, 120)}{prompted}"


def _said(one: Said, length: int) -> str:
    kept = one.body[:length].rstrip()
    lines = [shown for line in kept.splitlines() if (shown := _line(line, length))]
    query = f'piloop sql "SELECT body FROM comments WHERE id={one.ref.partition("#")[2]}"'  # noqa: S608 - never run
    more = [f"> … (the rest: `{query}`)"] if len(one.body) > length else []
    return "\n".join([f"- {one.ref} on {one.about} by {one.author}:", *(f"> {line}" for line in lines), *more])


def _line(text: str, length: int) -> str:
    return first_line(" ".join(text.split()), length)


def _number(value: float | None) -> str:
    return "no score" if value is None else f"{value:.6g}"


def _size(text: str) -> int:
    return len(text.encode())
