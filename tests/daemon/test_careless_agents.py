"""Agents that do anything at all in their folder and their repository hurt nothing but their own run.

`CARELESS_SEED=12 pytest -rP tests/daemon/test_careless_agents.py` does campaign 12 again and shows what was done;
`CARELESS_SEED=1,2` both, `CARELESS_CAMPAIGNS=500` so many.
"""

from __future__ import annotations

import os

import pytest

from .careless import Careless
from .conftest import Campaign

#: `make soak` does 500.
CAMPAIGNS = int(os.environ.get("CARELESS_CAMPAIGNS", "4"))
#: Those that have found something come first: a link to the checkout in place of the worktree, and a `.herdr`
#: in a commit that became the head.
FOUND = ("12", "15")
ACTS, RUNS = 40, 3
ASKED = os.environ.get("CARELESS_SEED", "")
SEEDS = (
    ASKED.split(",") if ASKED else list(dict.fromkeys([*FOUND, *map(str, range(1, CAMPAIGNS + 1))]))[:CAMPAIGNS]
)
#: Seconds for the runs to be settled.
LIMIT = 100.0


@pytest.mark.timeout(3 * LIMIT)
@pytest.mark.parametrize("seed", SEEDS)
def test_careless_agents_hurt_only_their_own_runs(unregistered: Campaign, seed: str) -> None:
    careless = Careless(unregistered, seed, acts=ACTS, runs=RUNS)
    try:
        careless.start()
        careless.finish(LIMIT)
        careless.check()
        print(careless.acts_done())
    except BaseException:
        print(f"do it again with CARELESS_SEED={seed}\n{careless.acts_done()}")
        raise
    finally:
        careless.end_processes()


def test_a_commit_with_something_in_the_place_of_herdrs_folder_never_becomes_the_head(campaign: Campaign) -> None:
    campaign.idea(
        "in the way", "sh rm -rf .herdr && ln -s nowhere .herdr && git add -f .herdr", "commit number=9 nine"
    )
    campaign.up()
    campaign.settled()
    assert campaign.verdicts() == [("nine", "discard", "protected")]
    campaign.idea("next", "commit number=2 two")
    campaign.settled(2)
    assert campaign.verdicts()[1] == ("two", "keep", "gain")
