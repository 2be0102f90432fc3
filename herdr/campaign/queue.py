"""Which ideas start now: the order of the queue, its slots, and the rotation of harnesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec


class ReadyIdea(msgspec.Struct, frozen=True, kw_only=True):
    """An idea in status `ready`.

    `blocked_by` is what `links.blocked_by` gives; `harness` and `base` (a candidate) are its pins, and `base_bar`
    is the candidate that runs from the pinned base must beat.
    """

    id: int
    priority: int
    blocked_by: Sequence[int] = ()
    harness: str | None = None
    base: int | None = None
    base_bar: int | None = None


class OpenRun(msgspec.Struct, frozen=True, kw_only=True):
    """A queued or running run, or an agent of another role: that one has no idea but fills its harness too."""

    harness: str
    idea: int | None = None
    role: str = "worker"


class Rotation(msgspec.Struct, frozen=True, kw_only=True):
    """The harnesses in turn; `turn` is the number of runs that the project had so far.

    `caps` limits how many agents of a harness live at once, across all roles; a harness without one is limited by
    the slots alone. `models` names a harness's model; a harness without one uses its own default.
    """

    harnesses: Sequence[str]
    turn: int = 0
    caps: Mapping[str, int] = {}
    models: Mapping[str, str] = {}

    def has_room(self, harness: str, busy: Mapping[str, int]) -> bool:
        """Whether one more agent of `harness` may live; `busy` counts those that do."""
        cap = self.caps.get(harness)
        return cap is None or busy.get(harness, 0) < cap

    def choose(self, turn: int, busy: Mapping[str, int]) -> str | None:
        """The harness whose turn it is, passing over those that are full; None when all are.

        Args:
            turn: the number of the run, counted over the whole project, so that each harness has its turn.
            busy: how many agents of each harness live already.
        """
        order = (self.harnesses[(turn + step) % len(self.harnesses)] for step in range(len(self.harnesses)))
        return next((harness for harness in order if self.has_room(harness, busy)), None)


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A run to queue; `base` is a candidate. The keeps of a branch run never move the head."""

    idea: int
    harness: str
    model: str | None
    base: int
    branch: bool


class Exploring(msgspec.Struct, frozen=True, kw_only=True):
    """How the campaign explores (`[roles.worker] explore_every`).

    At least one run in `every` starts from one of the `pinned` ideas, most urgent first, when one can; 0 is off.
    `plain` is how many of the latest runs in a row did not.
    """

    every: int = 0
    plain: int = 0
    pinned: Iterable[ReadyIdea] = ()

    def due(self, plain: int) -> bool:
        """Whether the next run must start from a pinned idea if it can."""
        return self.every > 0 and plain >= self.every - 1


def next_runs(
    ideas: Iterable[ReadyIdea],
    open_runs: Sequence[OpenRun],
    rotation: Rotation,
    *,
    slots: int,
    head: int,
    exploring: Exploring | None = None,
) -> list[Start]:
    """Choose the runs to queue now, most urgent first (`docs/ideas-seeds-runs.md`, "Runs" and "Starting points").

    An idea that cannot start, because it is blocked or its pinned harness is full, holds up no other.

    Args:
        ideas: the ideas in status `ready`, by priority and then by id; no more is read of them than is needed.
        open_runs: every run that is queued or running, and every live agent of another role.
        rotation: the harnesses of the worker role.
        slots: how many worker runs may be open at once.
        head: the latest keep on the trunk.
        exploring: when a run has to start from a pinned idea, whatever its priority.
    """
    exploring = exploring or Exploring()
    busy = Counter(run.harness for run in open_runs)
    under_way = {run.idea for run in open_runs}
    free = slots - sum(run.role == "worker" for run in open_runs)
    starts: list[Start] = []
    queue, plain = iter(ideas), exploring.plain

    def take(choice: Iterable[ReadyIdea]) -> ReadyIdea | None:
        for idea in choice:
            if idea.blocked_by or idea.id in under_way:
                continue
            harness = _harness_for(idea, rotation, rotation.turn + len(starts), busy)
            if harness is not None:
                busy[harness] += 1
                under_way.add(idea.id)
                starts.append(_start(idea, harness, rotation, head))
                return idea
        return None

    while len(starts) < free:
        taken = (take(exploring.pinned) if exploring.due(plain) else None) or take(queue)
        if taken is None:
            break
        plain = plain + 1 if taken.base is None else 0
    return starts


def _harness_for(idea: ReadyIdea, rotation: Rotation, turn: int, busy: Mapping[str, int]) -> str | None:
    if idea.harness is None:
        return rotation.choose(turn, busy)
    return idea.harness if rotation.has_room(idea.harness, busy) else None


def _start(idea: ReadyIdea, harness: str, rotation: Rotation, head: int) -> Start:
    return Start(
        idea=idea.id,
        harness=harness,
        model=rotation.models.get(harness),
        base=head if idea.base is None else idea.base,
        branch=idea.base is not None and idea.base_bar != head,
    )
