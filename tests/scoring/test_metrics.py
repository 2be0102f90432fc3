from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from herdr.scoring.metrics import BadMetricsError, read_metrics


@pytest.mark.parametrize(
    ("output", "document", "expected"),
    [
        ("METRIC loss=0.5\n", None, {"loss": 0.5}),
        ("noise\nMETRIC loss=1e-3\nMETRIC acc = 0.9\n", None, {"loss": 1e-3, "acc": 0.9}),
        ("METRIC loss=-3\r\nMETRIC acc=1\r\n", None, {"loss": -3.0, "acc": 1.0}),
        ("METRIC loss=2\nMETRIC loss=2.0\n", None, {"loss": 2.0}),
        ("", '{"loss": 3, "acc": 0.25}', {"loss": 3.0, "acc": 0.25}),
        ("METRIC loss=4", '{"acc": 1}', {"loss": 4.0, "acc": 1.0}),
        ("METRIC loss=4", "", {"loss": 4.0}),
        (" METRIC loss=9\nxMETRIC loss=8\nMETRIC loss=4\n", None, {"loss": 4.0}),
    ],
)
def test_metrics_are_read(output: str, document: str | None, expected: dict[str, float]) -> None:
    assert read_metrics(output, document, ["loss"]) == expected


@pytest.mark.parametrize(
    ("output", "document", "problem"),
    [
        ("", None, "no metric loss"),
        ("METRIC acc=1", None, "no metric loss"),
        ("METRIC loss=nan", None, "loss is not a finite number"),
        ("METRIC loss=inf", None, "loss is not a finite number"),
        ("METRIC loss=fast", None, "loss is not a finite number"),
        ("METRIC loss=1\nMETRIC loss=2", None, "loss was given twice: 1 and 2"),
        ("METRIC loss=1", '{"loss": 1.5}', "loss was given twice"),
        ("METRIC loss=1", "{", "not JSON"),
        ("METRIC loss=1", "[1]", "JSON object"),
        ("", '{"loss": true}', "loss is not a finite number"),
        ("", '{"loss": null}', "loss is not a finite number"),
        ("", '{"loss": NaN}', "loss is not a finite number"),
        ("", '{"loss": 1' + "0" * 400 + "}", "loss is not a finite number"),
    ],
)
def test_half_a_score_is_no_score(output: str, document: str | None, problem: str) -> None:
    with pytest.raises(BadMetricsError, match=problem):
        read_metrics(output, document, ["loss"])


def test_what_json_can_spell_and_nothing_can_store_is_made_storable() -> None:
    found = read_metrics("", '{"\\ud800": 1, "loss": 2}', ["loss"])
    assert found == {"?": 1.0, "loss": 2.0}
    with pytest.raises(BadMetricsError) as caught:
        read_metrics("", '{"loss": "\\ud800"}', ["loss"])
    assert caught.value.message.encode()


def test_what_could_be_read_is_kept_beside_the_error() -> None:
    with pytest.raises(BadMetricsError) as caught:
        read_metrics("METRIC acc=0.5\nMETRIC loss=nan", None, ["loss"])
    assert caught.value.metrics == {"acc": 0.5}


@given(st.text(), st.none() | st.text())
def test_any_output_gives_finite_numbers_or_one_clear_error(output: str, document: str | None) -> None:
    try:
        found = read_metrics(output, document, [])
    except BadMetricsError:
        return
    assert all(math.isfinite(value) for value in found.values())
