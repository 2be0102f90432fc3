from __future__ import annotations

import pytest

from herdr.campaign.titles import alike, similar_titles, words_of

ALIKE = [
    ("Gradient boosting on engineered features", "gradient boosting on the engineered features"),
    ("Use 2-opt with neighbour lists", "With neighbour lists, use 2-opt"),
    ("Larger batch size", "Larger batch sizes"),
    # Four words of five, and nine letters of ten, are enough.
    ("alpha beta gamma delta", "delta gamma beta alpha epsilon"),
    ("abcdefghij", "abcdefghiz"),
    # However long they are.
    (" ".join(letter * 12 + "x" for letter in "abcdefghijklmnopqrst"),
     " ".join(letter * 12 + "y" for letter in "abcdefghijklmnopqrst")),
]  # fmt: skip
APART = [
    ("Gradient boosting on engineered features, depth 64", "Gradient boosting on engineered features, depth 65"),
    ("aaaaa bbbbb ccccc", "aaaaa bbbbb ccddd"),
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
    assert alike(title, other) is False


def test_words_that_are_worth_comparing() -> None:
    assert words_of("Use the 2-opt move of OX, 10 times") == ["use", "the", "2", "opt", "move", "10", "times"]


def test_the_earlier_ones_are_named() -> None:
    others = [(1, "Larger batch sizes"), (2, "Smaller model"), (3, "larger BATCH size!")]
    assert similar_titles("Larger batch size", others) == [1, 3]
