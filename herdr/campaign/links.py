"""Links between ideas: what waits for what, and what a sharper idea replaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

import msgspec

from herdr.contract.words import IdeaStatus, LinkKind

NEVER_RAN: frozenset[IdeaStatus] = frozenset({"seed", "proposed", "ready"})


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """`idea` comes after `target`, or supersedes it; both are ideas of one project."""

    idea: int
    target: int
    kind: LinkKind


class Superseded(msgspec.Struct, frozen=True, kw_only=True):
    """An idea to reject, and the sharper idea that the note names."""

    idea: int
    by: int


def blocked_by(idea: int, links: Iterable[Link], statuses: Mapping[int, IdeaStatus]) -> tuple[int, ...]:
    """The ideas that `idea` waits for, in order; it may run when there are none.

    A prerequisite that was parked or rejected goes on blocking: what was to be built on is not there, and a
    person decides what to do about it.

    Args:
        idea: whose prerequisites are asked for.
        links: at least all links of that idea, of both kinds.
        statuses: the status of each idea that a link names; one that is missing goes on blocking.
    """
    targets = {link.target for link in links if link.kind == "after" and link.idea == idea}
    return tuple(sorted(target for target in targets if statuses.get(target) != "done"))


def would_cycle(link: Link, links: Iterable[Link]) -> tuple[int, ...]:
    """The cycle that `link` would close, as the ideas along it (`(3, 5, 3)`), or nothing when it closes none.

    Ideas that wait for each other would never run, and ideas that supersede each other would all be rejected.

    Args:
        link: the link that is about to be made.
        links: the links that there are, of both kinds; only those of the same kind count.
    """
    targets: dict[int, list[int]] = {}
    for known in links:
        if known.kind == link.kind:
            targets.setdefault(known.idea, []).append(known.target)
    seen = {link.target}
    paths: list[tuple[int, ...]] = [(link.idea, link.target)]
    while paths:
        path = paths.pop()
        if path[-1] == link.idea:
            return path
        for target in targets.get(path[-1], []):
            if target not in seen:
                seen.add(target)
                paths.append((*path, target))
    return ()


def superseded(links: Iterable[Link], statuses: Mapping[int, IdeaStatus], ran: Set[int]) -> list[Superseded]:
    """Which ideas to reject because a sharper one replaces them (docs/ideas-seeds-runs.md).

    Only an idea that never ran is rejected: one that ran keeps everything. An idea that was rejected itself
    replaces nothing; of several sharper ideas the newest is named.

    Args:
        links: the links of the project.
        statuses: the status of each idea.
        ran: the ideas that have a run of any state.
    """
    sharper: dict[int, int] = {}
    for link in links:
        if link.kind == "supersedes" and statuses.get(link.idea, "rejected") != "rejected":
            sharper[link.target] = max(link.idea, sharper.get(link.target, link.idea))
    return [
        Superseded(idea=idea, by=by)
        for idea, by in sorted(sharper.items())
        if idea not in ran and statuses.get(idea) in NEVER_RAN
    ]
