from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.campaign.queue import Exploring, OpenRun, ReadyIdea, Rotation, Start, next_runs

HEAD = 100


def idea(number: int, priority: int = 2, **pins: Any) -> ReadyIdea:
    return ReadyIdea(id=number, priority=priority, **pins)


def choose(
    ideas: Sequence[ReadyIdea],
    open_runs: Sequence[OpenRun] = (),
    slots: int = 9,
    exploring: Exploring | None = None,
    **rotation: Any,
) -> list[Start]:
    rotation.setdefault("harnesses", ("a", "b"))
    queue = sorted(ideas, key=lambda idea: (idea.priority, idea.id))
    return next_runs(queue, open_runs, Rotation(**rotation), slots=slots, head=HEAD, exploring=exploring)


def worker(harness: str, idea: int = 99) -> OpenRun:
    return OpenRun(harness=harness, idea=idea)


def research(harness: str) -> OpenRun:
    return OpenRun(harness=harness, role="research")


CASES: dict[str, tuple[list[ReadyIdea], list[OpenRun], dict[str, Any], list[tuple[int, str]]]] = {
    "by priority, then by age": ([idea(3), idea(2, 0), idea(1)], [], {}, [(2, "a"), (1, "b"), (3, "a")]),
    "as many as there are slots": ([idea(1), idea(2)], [], {"slots": 1}, [(1, "a")]),
    "open runs take slots": ([idea(1), idea(2)], [worker("a")], {"slots": 2}, [(1, "a")]),
    "more open than slots": ([idea(1)], [worker("a"), worker("a", 98)], {"slots": 1}, []),
    "another role takes no slot": ([idea(1)], [research("a")], {"slots": 1}, [(1, "a")]),
    "a blocked idea waits, others go on": ([idea(1, blocked_by=(7,)), idea(2)], [], {}, [(2, "a")]),
    "one open run for an idea": ([idea(1), idea(2)], [worker("a", 1)], {}, [(2, "a")]),
    "the rotation goes on from earlier runs": ([idea(1), idea(2)], [], {"turn": 3}, [(1, "b"), (2, "a")]),
    "each harness in its turn": (
        [idea(1), idea(2), idea(3)], [], {"harnesses": ("a", "b", "c")}, [(1, "a"), (2, "b"), (3, "c")],
    ),
    "the next one after a full harness": (
        [idea(1)], [worker("a")], {"harnesses": ("a", "b", "c"), "caps": {"a": 1}}, [(1, "b")],
    ),
    "what starts now takes one place each": (
        [idea(1), idea(2), idea(3)], [], {"harnesses": ("a",), "caps": {"a": 2}}, [(1, "a"), (2, "a")],
    ),
    "a full harness is passed over": ([idea(1)], [worker("a")], {"caps": {"a": 1}}, [(1, "b")]),
    "a cap counts every role": ([idea(1)], [research("a")], {"caps": {"a": 1}}, [(1, "b")]),
    "a cap counts what starts now": (
        [idea(1), idea(2), idea(3)], [], {"caps": {"a": 1}}, [(1, "a"), (2, "b"), (3, "b")],
    ),
    "all full": ([idea(1)], [worker("a"), worker("b")], {"caps": {"a": 1, "b": 1}}, []),
    "no harness at all": ([idea(1)], [], {"harnesses": ()}, []),
    "a pin beats the rotation": ([idea(1, harness="b"), idea(2)], [], {}, [(1, "b"), (2, "b")]),
    "a pin outside the rotation": ([idea(1, harness="z")], [], {}, [(1, "z")]),
    "a pin on a full harness waits, others go on": (
        [idea(1, 0, harness="a"), idea(2)], [worker("a")], {"caps": {"a": 1}}, [(2, "b")],
    ),
    "a pin goes on when the rotation is full": (
        [idea(1, 0), idea(2, harness="z")], [worker("a")], {"harnesses": ("a",), "caps": {"a": 1}}, [(2, "z")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("ideas", "open_runs", "limits", "expected"), CASES.values(), ids=CASES)
def test_queue(
    ideas: list[ReadyIdea], open_runs: list[OpenRun], limits: dict[str, Any], expected: list[tuple[int, str]]
) -> None:
    assert [(start.idea, start.harness) for start in choose(ideas, open_runs, **limits)] == expected


@pytest.mark.parametrize(
    ("pins", "base", "branch"),
    [
        ({}, HEAD, False),
        ({"base": 40, "base_bar": 40}, 40, True),
        ({"base": 101, "base_bar": HEAD}, 101, False),
        ({"base": HEAD, "base_bar": HEAD}, HEAD, False),
        ({"base": 55, "base_bar": None}, 55, True),
    ],
)
def test_a_pinned_base_is_a_branch_when_its_bar_is_not_the_head(
    pins: dict[str, Any], base: int, branch: bool
) -> None:
    (start,) = choose([idea(1, **pins)])
    assert (start.base, start.branch) == (base, branch)


def test_each_harness_brings_its_model_or_its_own_default() -> None:
    starts = choose([idea(1), idea(2)], models={"a": "large"})
    assert [start.model for start in starts] == ["large", None]


names = st.sampled_from("abc")
ready = st.builds(
    ReadyIdea,
    id=st.integers(1, 30),
    priority=st.integers(0, 4),
    harness=st.none() | names,
    blocked_by=st.sampled_from([(), (), (5,)]),
)
running = st.builds(OpenRun, harness=names, idea=st.integers(1, 30), role=st.sampled_from(["worker", "research"]))


@given(
    st.lists(ready, unique_by=lambda idea: idea.id),
    st.lists(running, max_size=6),
    st.builds(
        Rotation,
        harnesses=st.lists(names, unique=True),
        turn=st.integers(0, 50),
        caps=st.dictionaries(names, st.integers(1, 3)),
    ),
    st.integers(0, 6),
)
def test_what_starts_keeps_every_limit(
    ideas: list[ReadyIdea], open_runs: list[OpenRun], rotation: Rotation, slots: int
) -> None:
    queue = sorted(ideas, key=lambda idea: (idea.priority, idea.id))
    starts = next_runs(queue, open_runs, rotation, slots=slots, head=HEAD)
    by_id = {idea.id: idea for idea in ideas}
    workers = sum(run.role == "worker" for run in open_runs)
    assert len(starts) <= max(0, slots - workers)
    assert len({start.idea for start in starts}) == len(starts)
    assert not {start.idea for start in starts} & {run.idea for run in open_runs}
    before = Counter(run.harness for run in open_runs)
    for harness, count in Counter(start.harness for start in starts).items():
        assert before[harness] + count <= rotation.caps.get(harness, count + before[harness])
    for start in starts:
        assert not by_id[start.idea].blocked_by
        assert by_id[start.idea].harness in (None, start.harness)
    urgency = [(by_id[start.idea].priority, start.idea) for start in starts]
    assert urgency == sorted(urgency)
    if len(starts) < max(0, slots - workers):
        assert_nothing_was_left_out(ideas, open_runs, rotation, starts)


def assert_nothing_was_left_out(
    ideas: list[ReadyIdea], open_runs: list[OpenRun], rotation: Rotation, starts: list[Start]
) -> None:
    """With a slot still free, whatever did not start is blocked, under way, or has only full harnesses."""
    busy = Counter([*(run.harness for run in open_runs), *(start.harness for start in starts)])
    taken = {*(run.idea for run in open_runs), *(start.idea for start in starts)}
    for waiting in ideas:
        if not waiting.blocked_by and waiting.id not in taken:
            wanted = rotation.harnesses if waiting.harness is None else [waiting.harness]
            assert all(busy[harness] >= rotation.caps.get(harness, 10**9) for harness in wanted)


def pinned(number: int, priority: int = 4, **pins: Any) -> ReadyIdea:
    return idea(number, priority, base=40, base_bar=40, **pins)


def explore(every: int, plain: int, *ideas: ReadyIdea, slots: int = 1, **rotation: Any) -> list[int]:
    plains = [idea(number) for number in range(1, 9)]
    exploring = Exploring(every=every, plain=plain, pinned=ideas)
    starts = choose([*plains, *ideas], slots=slots, exploring=exploring, **rotation)
    return [start.idea for start in starts]


def test_a_pinned_idea_starts_when_none_did_for_too_long_whatever_its_priority() -> None:
    assert explore(4, 2, pinned(90)) == [1]
    assert explore(4, 3, pinned(90)) == [90]
    assert explore(4, 3, pinned(90, 3), pinned(91)) == [90]
    assert explore(0, 99, pinned(90)) == [1]
    assert explore(1, 0, pinned(90)) == [90]


def test_exploring_waits_for_nothing_when_no_pinned_idea_can_start() -> None:
    assert explore(4, 3) == [1]
    assert explore(4, 3, pinned(90, harness="z"), caps={"z": 0}) == [1]


def test_every_so_many_runs_explore_within_one_batch_too() -> None:
    assert explore(3, 0, pinned(90), pinned(91), slots=7) == [1, 2, 90, 3, 4, 91, 5]


@given(st.integers(1, 6), st.integers(0, 6), st.integers(1, 8))
def test_any_so_many_runs_in_a_row_have_a_pinned_one_while_one_can_start(
    every: int, plain: int, slots: int
) -> None:
    ideas = [pinned(90 + number) for number in range(slots)]
    started = [number >= 90 for number in explore(every, plain, *ideas, slots=slots)]
    assert len(started) == slots
    # What ran before may have been too long already: from the first one that starts now it holds.
    history = [False] * min(plain, every - 1) + started
    assert all(any(history[begin : begin + every]) for begin in range(len(history) - every + 1))


def test_a_campaign_explores_only_when_it_is_told_to() -> None:
    assert Exploring() == Exploring(every=0, plain=0, pinned=())
    assert not Exploring().due(99)
