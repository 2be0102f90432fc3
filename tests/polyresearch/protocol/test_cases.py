"""Every acceptance case, through the engine of `polyresearch explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from herdr_polyresearch.protocol.explain import ExplainError, explain

HERE = Path(__file__).parent.parent
ROOT = HERE.parent.parent
TEXT = (HERE / "cases.json").read_text()
CASES = json.loads(TEXT)["cases"]

# Quirks of the existing tool that we do not share; docs/polyresearch.md says why, case by case.
OURS: dict[str, dict[str, Any]] = {
    "derive-policy-rejection-without-pass": {
        "phase": "resolved:policy_rejection",
        "active_claim_nodes": [],
        "findings": [],
        "missing_rows": [
            ["#12", "thesis/12-rmsnorm-attempt-1", "1.5000", "1.0000", "policy_rejection", "tried it"]
        ],
    },
    "derive-accepted": {"active_claim_nodes": []},
    "duties-improved-with-closed-decided-pr": {"duties": {"blocking": [], "advisory": ["idle"]}},
    "duties-claimed-no-attempt": {"duties": {"blocking": ["claim"], "advisory": ["idle"]}},
    "surface-negation-not-supported": {"allowed": [], "violations": ["src/secret.py"]},
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    result = explain(json.dumps(case)).as_json()
    expected = case["expected"]
    if isinstance(expected, dict):
        expected = expected | OURS.get(case["id"], {})
        result = {name: result.get(name) for name in expected}
    assert result == expected


def test_every_case_is_there_and_only_quirks_may_differ() -> None:
    quirks = {case["id"] for case in CASES if "quirk" in case}
    assert len(CASES) == 88
    assert set(OURS) <= quirks


def test_every_quirk_is_listed_in_the_docs() -> None:
    page = (ROOT / "docs" / "polyresearch.md").read_text()
    for case in CASES:
        if "quirk" in case:
            row = next((line for line in page.splitlines() if f"`{case['id']}`" in line), "")
            assert ("| differs |" if case["id"] in OURS else "| matched |") in row, case["id"]


def test_the_whole_file_a_list_and_one_case_are_explained() -> None:
    whole = explain(TEXT).as_json()
    assert [row["id"] for row in whole] == [case["id"] for case in CASES]
    assert explain(json.dumps(CASES[:2])).as_json() == whole[:2]
    assert explain(json.dumps(CASES[0])).as_json() == whole[0]["result"]


def test_the_text_form_names_each_case_and_field() -> None:
    text = explain(TEXT).as_text()
    assert "derive-in-review (derive)\n  phase: in_review\n" in text
    assert '  findings: [["issue", 12, "invalid", 3]]' in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "case 1 is not an object"),
        ('{"kind": "spell"}', "unknown kind 'spell'"),
        ('{"id": "x", "kind": "derive", "now": "2026-04-10T18:00:00Z"}', "x: .*'issue' is missing"),
        ('{"kind": "slug", "input": 3}', "no case of kind slug"),
    ],
)
def test_a_file_that_cannot_be_explained_is_named(text: str, message: str) -> None:
    with pytest.raises(ExplainError, match=message) as caught:
        explain(text)
    assert caught.value.fix


def test_a_bad_program_is_a_result_and_not_a_crash() -> None:
    case = {"kind": "config", "input": "auto_approve: yes"}
    assert "auto_approve cannot be 'yes'" in explain(json.dumps(case)).as_json()["error"]


def test_a_metric_that_json_has_no_word_for_is_null() -> None:
    fields = "metric: nan\nbaseline_metric: inf\nobservation: crashed\nsummary:"
    body = f"<!-- polyresearch:attempt\nthesis: 1\nbranch: b\n{fields}\n-->"
    case = {"kind": "parse", "issue": {"comments": [{"id": 1, "body": body}]}}
    parsed = explain(json.dumps(case)).as_json()["parsed"]
    assert (parsed["metric"], parsed["baseline_metric"], parsed["summary"]) == (None, None, "")


def test_what_only_we_write_is_shown_where_it_is_set() -> None:
    fields = "metric: 0.0000\nmetric_exact: 1e-05\nbaseline_metric: none\nruns: 1e-05, 1e-05\ncommit: abc\n"
    body = f"<!-- polyresearch:attempt\nthesis: 1\nbranch: b\n{fields}observation: improved\nsummary: s\n-->"
    case = {"kind": "parse", "issue": {"comments": [{"id": 1, "body": body}]}}
    parsed = explain(json.dumps(case)).as_json()["parsed"]
    assert parsed["metric"] == 1e-05
    assert parsed["runs"] == [1e-05, 1e-05]
    assert (parsed["commit"], parsed["exact"], parsed["baseline_metric"]) == ("abc", True, None)
