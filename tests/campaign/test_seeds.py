from __future__ import annotations

from herdr.campaign.seeds import Developed, hypothesis_of, plan_of

FOUND = Developed(
    hypothesis="Trees generalise better",
    evidence="a paper on trees",
    check="one tree on a tenth of the data",
    metric="loss",
    effect="-2 %",
)


def test_the_hypothesis_keeps_the_hunch_and_the_evidence() -> None:
    assert hypothesis_of("try trees", FOUND) == (
        "Trees generalise better\n\nThe hunch: try trees\n\nEvidence: a paper on trees"
    )


def test_the_plan_begins_with_the_cheapest_check() -> None:
    plan = (
        "First check this, and stop if it fails: one tree on a tenth of the data\n\n"
        "It succeeds by loss. Expected effect: -2 %"
    )
    assert plan_of(FOUND) == plan
    assert plan_of(FOUND, "Then two trees.") == f"{plan}\n\nThen two trees."
