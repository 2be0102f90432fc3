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
