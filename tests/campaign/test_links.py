from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.campaign.links import Link, Superseded, blocked_by, superseded, would_cycle


def after(idea: int, target: int) -> Link:
    return Link(idea=idea, target=target, kind="after")


def sharper(idea: int, target: int) -> Link:
    return Link(idea=idea, target=target, kind="supersedes")


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ({1: "done", 2: "done"}, ()),
        ({1: "done", 2: "scheduled"}, (2,)),
        ({1: "parked", 2: "rejected"}, (1, 2)),
        ({1: "done"}, (2,)),
    ],
)
def test_an_idea_waits_until_every_prerequisite_is_done(statuses: Any, expected: tuple[int, ...]) -> None:
    links = [after(3, 2), after(3, 1), sharper(3, 4), after(5, 6)]
    assert blocked_by(3, links, statuses) == expected


@pytest.mark.parametrize(
    ("link", "links", "cycle"),
    [
        (after(1, 1), [], (1, 1)),
        (after(1, 2), [after(2, 1)], (1, 2, 1)),
        (after(1, 2), [after(2, 3), after(3, 1)], (1, 2, 3, 1)),
        (after(1, 2), [after(2, 3), after(3, 2)], ()),
        (after(1, 2), [after(2, 3), after(1, 3)], ()),
        # A circle that is there already, and does not hold the new link, is gone round once.
        (after(1, 2), [after(2, 3), after(3, 4), after(4, 3)], ()),
        (after(1, 2), [sharper(2, 1)], ()),
        (sharper(1, 2), [sharper(2, 1)], (1, 2, 1)),
    ],
)
def test_would_cycle(link: Link, links: list[Link], cycle: tuple[int, ...]) -> None:
    assert would_cycle(link, links) == cycle


edges = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), max_size=20)


@given(edges)
def test_links_that_close_no_cycle_leave_an_order_to_run_in(pairs: list[tuple[int, int]]) -> None:
    links: list[Link] = []
    for idea, target in pairs:
        if not would_cycle(after(idea, target), links):
            links.append(after(idea, target))
    statuses: Any = dict.fromkeys(range(1, 9), "ready")
    while waiting := [idea for idea, status in statuses.items() if status != "done"]:
        free = [idea for idea in waiting if not blocked_by(idea, links, statuses)]
        assert free
        statuses[free[0]] = "done"


@pytest.mark.parametrize("status", ["seed", "proposed", "ready"])
def test_a_superseded_idea_that_never_ran_is_rejected(status: Any) -> None:
    assert superseded([sharper(2, 1)], {1: status, 2: "ready"}, set()) == [Superseded(idea=1, by=2)]


@pytest.mark.parametrize(
    ("statuses", "ran"),
    [
        ({1: "ready", 2: "ready"}, {1}),
        ({1: "scheduled", 2: "ready"}, set()),
        ({1: "done", 2: "ready"}, {1}),
        ({1: "parked", 2: "ready"}, set()),
        ({1: "rejected", 2: "ready"}, set()),
        ({1: "ready", 2: "rejected"}, set()),
        ({1: "ready"}, set()),
    ],
)
def test_others_stay(statuses: Any, ran: set[int]) -> None:
    assert superseded([sharper(2, 1), after(2, 1)], statuses, ran) == []


def test_what_only_comes_after_an_idea_does_not_replace_it() -> None:
    assert superseded([after(2, 1)], {1: "ready", 2: "ready"}, set()) == []


def test_a_chain_is_rejected_in_one_go_and_the_newest_is_named() -> None:
    links = [sharper(2, 1), sharper(3, 2), sharper(3, 1)]
    found = superseded(links, {1: "ready", 2: "ready", 3: "proposed"}, set())
    assert found == [Superseded(idea=1, by=3), Superseded(idea=2, by=3)]
