from __future__ import annotations

import pytest

from herdr.campaign.titles import alike, nearest

ALIKE = [
    ("Gradient boosting on engineered features", "gradient boosting on the engineered features"),
    ("Use 2-opt with neighbour lists", "With neighbour lists, use 2-opt"),
    ("Larger batch size", "Larger batch sizes"),
]
APART = [
    ("Gradient boosting on engineered features", "Linear model on engineered features"),
    ("Batch size 64", "Batch size 128"),
    ("Try it", "Drop it"),
]


@pytest.mark.parametrize(("title", "other"), ALIKE)
def test_titles_that_say_the_same(title: str, other: str) -> None:
    assert alike(title, other)
    assert alike(other, title)


@pytest.mark.parametrize(("title", "other"), APART)
def test_titles_that_do_not(title: str, other: str) -> None:
    assert not alike(title, other)


def test_the_earlier_ones_are_named() -> None:
    others = [(1, "Larger batch sizes"), (2, "Smaller model"), (3, "larger BATCH size!")]
    assert nearest("Larger batch size", others) == [1, 3]
