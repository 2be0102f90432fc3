from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.campaign.verdict import Metric, Scored, Verdict, judge

LENGTH = Metric(name="length", direction="lower", role="primary")
ACCURACY = Metric(name="accuracy", direction="higher", role="guardrail", margin=0.1, floor=0.5)
SECONDS = Metric(name="seconds", direction="lower")
METRICS = (LENGTH, ACCURACY, SECONDS)
BAR = {"length": 100.0, "accuracy": 0.8, "seconds": 1.0}


def verdict(
    bar: Any = BAR, error: str | None = None, changed: Any = (), note: str | None = None, **values: float
) -> Verdict:
    scored = Scored(metrics={"length": 90.0, "accuracy": 0.8, "seconds": 1.0} | values, error=error)
    return judge(METRICS, scored, bar, protected=changed, note=note)


@pytest.mark.parametrize(
    ("facts", "word", "rule"),
    [
        ({}, "keep", "gain"),
        ({"seconds": 1e9}, "keep", "gain"),
        ({"accuracy": 0.9}, "keep", "gain"),
        ({"accuracy": 0.7}, "keep", "gain"),
        ({"accuracy": 0.6999}, "interesting", "margin"),
        ({"accuracy": 0.5}, "interesting", "margin"),
        ({"accuracy": 0.4999}, "discard", "floor"),
        ({"length": 100.0}, "discard", "no_change"),
        ({"length": 100.0, "seconds": 0.1}, "discard", "no_change"),
        ({"length": 100.0, "accuracy": 0.9}, "discard", "no_gain"),
        ({"length": 100.0, "bar": {"length": 100.0}}, "discard", "no_gain"),
        ({"length": 100.1}, "discard", "no_gain"),
        ({"length": 99.999999999}, "keep", "gain"),
        ({"error": "exit status 1"}, "crash", "error"),
        ({"length": math.nan}, "crash", "not_finite"),
        ({"accuracy": math.inf}, "crash", "not_finite"),
        ({"seconds": -math.inf}, "crash", "not_finite"),
        ({"bar": None}, "keep", "no_bar"),
        ({"bar": {}}, "keep", "no_bar"),
        ({"bar": {"length": math.nan}}, "keep", "no_bar"),
        ({"bar": None, "accuracy": 0.1}, "discard", "floor"),
        ({"bar": {"length": 100.0}}, "interesting", "margin"),
        ({"changed": ["evaluate.py"]}, "discard", "protected"),
        ({"changed": ["evaluate.py"], "bar": None}, "discard", "protected"),
        ({"changed": ["evaluate.py"], "error": "boom"}, "crash", "error"),
    ],
)
def test_judge(facts: dict[str, Any], word: str, rule: str) -> None:
    found = verdict(**facts)
    assert (found.verdict, found.rule, found.cause) == (word, rule, "protected" if rule == "protected" else None)


@pytest.mark.parametrize("missing", ["length", "accuracy", "seconds"])
def test_every_configured_metric_must_be_there(missing: str) -> None:
    scored = {name: value for name, value in BAR.items() if name != missing}
    found = judge(METRICS, Scored(metrics=scored), BAR)
    assert (found.verdict, found.rule) == ("crash", "missing")
    assert missing in found.reason


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({}, "length 90 beats the bar's 100 by 10 (10 %)"),
        ({"length": 112.5}, "length 112.5 is worse than the bar's 100 by 12.5 (12.5 %)"),
        ({"length": 100.0}, "no change: length is 100, exactly as at the bar"),
        ({"length": 99.9999999}, "length 99.9999999 beats the bar's 100 by 1e-07 (1e-07 %)"),
        ({"length": 8011233.0, "bar": {**BAR, "length": 8011234.0}},
         "length 8011233 beats the bar's 8011234 by 1 (1.25e-05 %)"),
        ({"length": 12345678.0, "bar": None}, "length 12345678, and the bar has no score to beat"),
        ({"length": 100.0, "accuracy": 0.9}, "length 100 only equals the bar"),
        ({"length": 0.1, "accuracy": 0.9, "bar": {**BAR, "length": 0.1}}, "length 0.1 only equals the bar"),
        # As many digits as tell the numbers apart, in few steps.
        ({"length": 1.23456789, "bar": None}, "length 1.23457, and the bar has no score to beat"),
        ({"length": 89.87654321}, "length 89.8765 beats the bar's 100 by 10.12 (10.1 %)"),
        ({"length": 1.2345678912, "bar": {**BAR, "length": 1.2345679912}},
         "length 1.23456789 beats the bar's 1.23456799 by 1e-07 (8.1e-06 %)"),
        ({"length": 1.2345678901234, "bar": {**BAR, "length": 1.2345678911234}},
         "length 1.23456789012 beats the bar's 1.23456789112 by 1e-09 (8.1e-08 %)"),
        ({"length": 0.3, "bar": {**BAR, "length": 0.1 + 0.2}},
         "length 0.29999999999999999 beats the bar's 0.30000000000000004 by 4e-17 (1.33e-14 %)"),
        # Counts to their last digit, until nobody would read them any more.
        ({"length": 999999999999999.0, "bar": None}, "length 999999999999999, and the bar has no score to beat"),
        ({"length": 1e15, "bar": None}, "length 1e+15, and the bar has no score to beat"),
        ({"length": -1.0, "bar": {**BAR, "length": 0.0}}, "length -1 beats the bar's 0 by 1"),
        ({"length": -12.0, "bar": {**BAR, "length": -10.0}}, "length -12 beats the bar's -10 by 2 (20 %)"),
        ({"accuracy": 0.6},
         ("length 90 beats the bar's 100 by 10 (10 %), but guardrail accuracy 0.6 is worse than the bar's 0.8 "
          "by 0.2 (25 %), more than its margin of 0.1")),
        ({"accuracy": 0.4}, "guardrail accuracy 0.4 is past its floor of 0.5"),
        ({"changed": ["evaluate.py", "data/x.csv"]},
         "changed protected evaluate.py, data/x.csv; with the evaluator's own files it scores length 90"),
        ({"length": 101.0, "note": "opens up a better move"},
         "opens up a better move (length 101 is worse than the bar's 100 by 1 (1 %))"),
    ],
)  # fmt: skip
def test_the_reason_has_the_numbers(facts: dict[str, Any], reason: str) -> None:
    assert verdict(**facts).reason == reason


@pytest.mark.parametrize(
    ("facts", "word", "cause"),
    [
        ({"length": 101.0}, "interesting", "note"),
        ({"accuracy": 0.1}, "interesting", "note"),
        ({}, "keep", None),
        ({"error": "boom"}, "crash", None),
        ({"accuracy": 0.6}, "interesting", None),
        ({"length": 101.0, "changed": ["evaluate.py"]}, "discard", "protected"),
    ],
)
def test_a_note_makes_a_regression_worth_starting_from(
    facts: dict[str, Any], word: str, cause: str | None
) -> None:
    found = verdict(note="try again from here", **facts)
    assert (found.verdict, found.cause) == (word, cause)


@pytest.mark.parametrize(
    ("direction", "bar", "value", "word"),
    [
        ("higher", 0.8, 0.7, "keep"),
        ("higher", 0.8, 0.69999999, "interesting"),
        ("lower", 0.7, 0.8, "keep"),
        ("lower", 0.7, 0.80000001, "interesting"),
        ("lower", 1.1, 1.2, "keep"),
    ],
)
def test_a_margin_means_the_decimals_that_were_written(
    direction: Any, bar: float, value: float, word: str
) -> None:
    guardrail = Metric(name="g", direction=direction, role="guardrail", margin=0.1)
    found = judge((LENGTH, guardrail), Scored(metrics={"length": 1.0, "g": value}), {"length": 2.0, "g": bar})
    assert found.verdict == word


def test_a_metric_is_only_watched_unless_it_says_more_and_a_guardrail_may_not_fall_at_all() -> None:
    assert (SECONDS.role, SECONDS.margin, SECONDS.floor) == ("watch", 0.0, None)
    guardrail = Metric(name="g", direction="higher", role="guardrail")
    found = judge((LENGTH, guardrail), Scored(metrics={"length": 1.0, "g": 0.9}), {"length": 2.0, "g": 1.0})
    assert (found.verdict, found.rule) == ("interesting", "margin")


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.sampled_from(["higher", "lower"]), finite, finite, finite, finite)
def test_a_keep_always_beats_the_bar_and_watching_never_decides(
    direction: Any, value: float, bar: float, watched: float, watched_bar: float
) -> None:
    primary = Metric(name="p", direction=direction, role="primary")
    found = judge(
        (primary, SECONDS), Scored(metrics={"p": value, "seconds": watched}), {"p": bar, "seconds": watched_bar}
    )
    better = value > bar if direction == "higher" else value < bar
    assert found.verdict == ("keep" if better else "discard")
    assert found == judge((primary, SECONDS), Scored(metrics={"p": value, "seconds": 0.0}), {"p": bar})
    assert judge((primary,), Scored(metrics={"p": bar}), {"p": bar}).rule == "no_change"


@given(finite, finite, st.sampled_from([[], ["evaluate.py"]]), st.none() | st.just("why"))
def test_a_candidate_that_changed_a_protected_file_is_never_kept(
    value: float, accuracy: float, changed: list[str], note: str | None
) -> None:
    found = verdict(length=value, accuracy=accuracy, changed=changed, note=note)
    assert found.verdict == "discard" if changed else found.rule != "protected"
