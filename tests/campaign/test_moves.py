"""The whole table of moves, by role: what is not in it is refused."""

from __future__ import annotations

from typing import get_args

import pytest

from herdr.campaign.moves import AUTHORS, DAEMON, HUMAN, MOVES, PEOPLE, SEEDERS, changes, move
from herdr.contract.words import IdeaStatus
from herdr.errors import RefusedError

STATUSES: tuple[IdeaStatus, ...] = get_args(IdeaStatus)
ROLES = ("human", "orchestrator", "research", "watchdog", "worker", "lead", "daemon")
PEOPLES = "human orchestrator"
#: (name, from, by) -> to
LEGAL = {
    ("approve", "proposed", "human"): "ready",
    ("develop", "seed", "human orchestrator research lead"): "ready",
    ("propose", "seed", "human orchestrator research lead"): "proposed",
    ("park", "seed", PEOPLES): "parked",
    ("park", "proposed", PEOPLES): "parked",
    ("park", "ready", PEOPLES): "parked",
    ("park", "scheduled", f"{PEOPLES} daemon"): "parked",
    ("reject", "seed", f"{PEOPLES} research"): "rejected",
    ("reject", "proposed", PEOPLES): "rejected",
    ("reject", "ready", PEOPLES): "rejected",
    ("reject", "scheduled", PEOPLES): "rejected",
    ("reject", "parked", PEOPLES): "rejected",
    ("ready", "parked", PEOPLES): "ready",
    ("ready", "rejected", PEOPLES): "ready",
    ("ready", "done", PEOPLES): "ready",
    ("reopen", "parked", PEOPLES): "seed",
    ("reopen", "rejected", PEOPLES): "seed",
    ("schedule", "ready", "daemon"): "scheduled",
    ("retry", "scheduled", "daemon"): "ready",
    ("finish", "scheduled", "daemon"): "done",
    ("supersede", "seed", "daemon"): "rejected",
    ("supersede", "proposed", "daemon"): "rejected",
    ("supersede", "ready", "daemon"): "rejected",
}


def test_exactly_these_moves_are_legal() -> None:
    expected = {(name, source, role): to for (name, source, who), to in LEGAL.items() for role in who.split()}
    found = {}
    for name in dict.fromkeys(one.name for one in MOVES):
        for status in STATUSES:
            for role in ROLES:
                try:
                    found[name, status, role] = move("idea#1", name, status, role)
                except RefusedError:
                    continue
    assert found == expected


def test_every_status_is_reached_and_left() -> None:
    everybody = PEOPLE | DAEMON | {"research"}
    reached = {"seed", "proposed", "ready"}
    while more := {to for source, to in changes(everybody) if source in reached} - reached:
        reached |= more
    assert reached == set(STATUSES)
    assert {source for source, _ in changes(everybody)} == set(STATUSES)


def test_a_refusal_says_what_is_possible() -> None:
    with pytest.raises(RefusedError) as error:
        move("idea#7", "approve", "parked", "human")
    assert error.value.message == "idea#7 is parked: there is nothing to approve"
    assert error.value.fix == "piloop idea reject idea#7 or piloop idea ready idea#7"
    with pytest.raises(RefusedError, match="only human may approve it"):
        move("idea#7", "approve", "proposed", "orchestrator")
    with pytest.raises(RefusedError) as error:
        move("idea#7", "park", "done", "daemon")
    assert error.value.fix == "piloop idea show idea#7"


def test_who_has_which_part() -> None:
    assert (frozenset({"human"}), frozenset({"daemon"})) == (HUMAN, DAEMON)
    assert HUMAN | {"orchestrator"} == PEOPLE
    assert PEOPLE | {"research", "lead"} == AUTHORS
    assert AUTHORS | {"watchdog"} == SEEDERS


def test_the_changes_that_a_role_may_make() -> None:
    assert changes(frozenset({"research"})) == {("seed", "ready"), ("seed", "proposed"), ("seed", "rejected")}
    assert changes(frozenset({"worker"})) == set()


def test_a_refusal_names_no_move_that_has_no_command_of_its_own() -> None:
    with pytest.raises(RefusedError) as error:
        move("idea#7", "approve", "seed", "human")
    assert error.value.fix == "piloop idea develop idea#7 or piloop idea park idea#7 or piloop idea reject idea#7"
