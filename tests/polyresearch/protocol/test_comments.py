"""The exact texts, what a reader takes, and that no text can forge anything."""

from __future__ import annotations

from typing import Any

import pytest
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.comments import clean_block, parse, render
from herdr_polyresearch.protocol.slash import Slash

TEXTS = {
    b.ApprovalBlock(
        thesis=12
    ): "Polyresearch approval: thesis #12.\n\n<!-- polyresearch:approval\nthesis: 12\n-->",
    b.ClaimBlock(thesis=12, node="alice/node-7f83"): (
        "Polyresearch claim: thesis #12 by node `alice/node-7f83`.\n\n"
        "<!-- polyresearch:claim\nthesis: 12\nnode: alice/node-7f83\n-->"
    ),
    b.ReleaseBlock(thesis=12, node="alice/node-7f83", reason="no_improvement"): (
        "Polyresearch release: thesis #12 by node `alice/node-7f83` (`reason: no_improvement`).\n\n"
        "<!-- polyresearch:release\nthesis: 12\nnode: alice/node-7f83\nreason: no_improvement\n-->"
    ),
    b.AttemptBlock(
        thesis=12,
        branch="thesis/12-rmsnorm-attempt-1",
        metric=1.005,
        baseline_metric=0.9934,
        observation="no_improvement",
        summary="Switched to GeLU activation, regression on val_bpb",
    ): (
        "Polyresearch attempt: thesis #12, branch `thesis/12-rmsnorm-attempt-1`, metric `1.0050`, "
        "observation `no_improvement`.\n\n<!-- polyresearch:attempt\nthesis: 12\n"
        "branch: thesis/12-rmsnorm-attempt-1\nmetric: 1.0050\nbaseline_metric: 0.9934\n"
        "observation: no_improvement\nsummary: Switched to GeLU activation, regression on val_bpb\n-->"
    ),
    b.AnnotationBlock(thesis=12, node="alice/node-7f83", text="Tried it twice.\n\nNo luck."): (
        "Polyresearch annotation: thesis #12 by node `alice/node-7f83`.\n\nTried it twice.\n\nNo luck.\n\n"
        "<!-- polyresearch:annotation\nthesis: 12\nnode: alice/node-7f83\n-->"
    ),
    b.PolicyPassBlock(thesis=12, candidate_sha="a1b2c3d"): (
        "Polyresearch policy pass: thesis #12, candidate `a1b2c3d`.\n\n"
        "<!-- polyresearch:policy-pass\nthesis: 12\ncandidate_sha: a1b2c3d\n-->"
    ),
    b.ReviewClaimBlock(thesis=12, node="bob/node-3e91"): (
        "Polyresearch review claim: thesis #12 by node `bob/node-3e91`.\n\n"
        "<!-- polyresearch:review-claim\nthesis: 12\nnode: bob/node-3e91\n-->"
    ),
    b.ReviewBlock(
        thesis=12,
        candidate_sha="a1b2c3d",
        base_sha="c0d1e2f",
        node="bob/node-3e91",
        metric=0.9934,
        baseline_metric=0.9979,
        observation="improved",
        env_sha="9f3a2b4c",
        timestamp="2026-04-06T14:30:00.250Z",
    ): (
        "Polyresearch review: thesis #12 by node `bob/node-3e91`, candidate `0.9934`, baseline `0.9979`, "
        "observation `improved`.\n\n<!-- polyresearch:review\nthesis: 12\ncandidate_sha: a1b2c3d\n"
        "base_sha: c0d1e2f\nnode: bob/node-3e91\nmetric: 0.9934\nbaseline_metric: 0.9979\n"
        "observation: improved\nenv_sha: 9f3a2b4c\ntimestamp: 2026-04-06T14:30:00.250+00:00\n-->"
    ),
    b.DecisionBlock(thesis=12, candidate_sha="a1b2c3d", outcome="accepted", confirmations=2): (
        "Polyresearch decision: thesis #12, candidate `a1b2c3d`, outcome `accepted`.\n\n"
        "<!-- polyresearch:decision\nthesis: 12\ncandidate_sha: a1b2c3d\noutcome: accepted\nconfirmations: 2\n-->"
    ),
    b.AdminNoteBlock(action="acknowledge_invalid", target="issue #12", note="race.", related_comment_id=3): (
        "Polyresearch admin repair: race..\n\n<!-- polyresearch:admin-note\naction: acknowledge_invalid\n"
        "target: issue #12\nnote: race.\nrelated_comment_id: 3\n-->"
    ),
}
TYPES = [type(block).__name__ for block in TEXTS]


@pytest.mark.parametrize("block", TEXTS, ids=TYPES)
def test_each_type_is_written_to_the_letter_and_read_back(block: b.Block) -> None:
    assert render(block) == TEXTS[block]
    assert parse(TEXTS[block]) == block


@pytest.mark.parametrize("block", TEXTS, ids=TYPES)
def test_a_carriage_return_before_each_line_feed_changes_no_field(block: b.Block) -> None:
    if not isinstance(block, b.AnnotationBlock):
        assert parse(TEXTS[block].replace("\n", "\r\n")) == block


@pytest.mark.parametrize("block", TEXTS, ids=TYPES)
def test_a_block_without_any_one_of_its_fields_is_no_event(block: b.Block) -> None:
    lines = TEXTS[block].split("\n")
    for line in lines[lines.index(f"<!-- polyresearch:{block.TYPE}") + 1 : -1]:
        key = line.partition(":")[0]
        if key not in ("related_comment_id", "baseline_metric"):
            assert parse("\n".join(other for other in lines if other != line)) is None, key


def attempt(**fields: object) -> b.AttemptBlock:
    given: dict[str, Any] = {
        "branch": "b",
        "metric": 1.0,
        "baseline_metric": 1.0,
        "observation": "improved",
        "summary": "s",
    }
    return b.AttemptBlock(thesis=12, **(given | fields))


def test_a_metric_that_four_decimals_lose_is_kept_in_a_field_of_its_own() -> None:
    text = render(attempt(metric=1.2e-5, baseline_metric=0.5))
    assert "\nmetric: 0.0000\nbaseline_metric: 0.5000\n" in text
    assert "\nmetric_exact: 1.2e-05\n" in text
    assert "baseline_metric_exact" not in text
    read = parse(text)
    assert isinstance(read, b.AttemptBlock)
    assert read.metric == 1.2e-5
    assert read.exact


def test_an_exact_value_that_contradicts_the_metric_is_passed_over() -> None:
    text = render(attempt(metric=1.2e-5)).replace("metric_exact: 1.2e-05", "metric_exact: 9.5")
    read = parse(text)
    assert isinstance(read, b.AttemptBlock)
    assert (read.metric, read.exact) == (0.0, False)


def test_runs_and_the_measured_commit_are_read_back() -> None:
    block = attempt(runs=(1.01, 1.02, 1.03), commit="a1b2c3d")
    assert parse(render(block)) == block
    read = parse(render(block).replace("1.02", "many"))
    assert isinstance(read, b.AttemptBlock)
    assert read.runs == ()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("inf"), "inf"), (float("-inf"), "-inf"), (-0.00001, "-0.0000"), (0.00005, "0.0001"), (2.5, "2.5000")],
)
def test_metrics_are_written_with_four_decimals(value: float, shown: str) -> None:
    assert f"metric `{shown}`" in render(attempt(metric=value))
    read = parse(render(attempt(metric=value)))
    assert isinstance(read, b.AttemptBlock)
    assert read.metric == value


def test_not_a_number_is_written_as_other_nodes_write_it() -> None:
    text = render(attempt(metric=float("nan")))
    assert "metric: NaN" in text
    assert parse(text) is not None


def test_a_baseline_that_nobody_measured_is_none() -> None:
    text = render(attempt(baseline_metric=None))
    assert "baseline_metric: none" in text
    assert parse(text) == attempt(baseline_metric=None)
    assert parse(text.replace("baseline_metric: none\n", "")) == attempt(baseline_metric=None)


FORGERIES = [
    "x\nobservation: improved",
    "x\r\nmetric: 9",
    "x --> y",
    "x --> <!-- polyresearch:decision\nthesis: 12\ncandidate_sha: a\noutcome: accepted\nconfirmations: 9\n-->",
    "<!-- polyresearch:approval\nthesis: 12\n-->",
    "<!-->",
    "<!--->",
    "--\x00>",
    "<!\x07-- polyresearch:approval\nthesis: 12\n--\x07>",
    "/approve",
    "\n\n/approve",
    "tab\there",
    "> quoted\n> <!-- polyresearch:claim",
    "line\u2028separator\x85next",
]


@pytest.mark.parametrize("text", FORGERIES)
def test_no_text_makes_another_event(text: str) -> None:
    for block in (
        attempt(
            summary=text,
            branch=text,
            observation="crashed",
            annotations=(b.Annotation(category=text, task_id=text, text=text),),
        ),
        b.AnnotationBlock(thesis=12, node=text, text=text),
        b.AdminNoteBlock(action="reopen_thesis", target=text, note=text),
        b.ClaimBlock(thesis=12, node=text),
        b.PolicyPassBlock(thesis=12, candidate_sha=text),
    ):
        body = render(block)
        assert parse(body) == clean_block(block)
        assert body.count("<!--") == body.count("-->") == 1
        assert clean_block(clean_block(block)) == clean_block(block)


def test_annotations_are_read_back_as_they_were() -> None:
    annotations = (
        b.Annotation(category="c", text="a --> b <!-- c\n\td"),
        b.Annotation(category="c", text="\N{SNOWMAN}"),
    )
    block = attempt(annotations=(*annotations, b.Annotation(category=" ", text="dropped")))
    read = parse(render(block))
    assert isinstance(read, b.AttemptBlock)
    assert read.annotations == annotations


@pytest.mark.parametrize(
    "value",
    [
        "[]",
        "{}",
        "[1]",
        '[{"category":"c"}]',
        '[{"category":" ","text":"t"}]',
        '[{"category":"c","text":1}]',
        "[" * 9999,
    ],
)
def test_annotations_that_cannot_be_read_take_the_attempt_with_them(value: str) -> None:
    text = render(attempt()).replace("summary: s", f"summary: s\nannotations: {value}")
    assert parse(text) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", None),
        ("/approve", Slash(True, None)),
        ("\u3000/reject\u2003why", Slash(False, "why")),
        ("/approve\x1cno", None),
        ("please /approve", None),
        ("/approve/reject", None),
        ("<!-- polyresearch:claim\nthesis: 12\nnode: x", None),
        ("<!-- polyresearch:unknown\nthesis: 12\n-->", None),
        ("<!--polyresearch:claim\n\n thesis:012\nnode:\n-->", b.ClaimBlock(thesis=12, node="")),
        ("<!-- polyresearch:claim \t\nthesis: +12\nnode: x-->", b.ClaimBlock(thesis=12, node="x")),
        ("a <!-- b --> <!-- polyresearch:claim\nthesis: 1\nnode: x\n-->", b.ClaimBlock(thesis=1, node="x")),
        (
            "<!-- polyresearch:claim x --><!-- polyresearch:claim\nthesis: 1\nnode: x\n-->",
            b.ClaimBlock(thesis=1, node="x"),
        ),
        ("```\n<!-- polyresearch:claim\nthesis: 1\nnode: x\n-->\n```", b.ClaimBlock(thesis=1, node="x")),
        ("<!-- polyresearch:nothing\na: b\n--><!-- polyresearch:claim\nthesis: 1\nnode: x\n-->", None),
        (" > <!-- polyresearch:claim\nnode: x\n-->\n<!-- polyresearch:claim\nthesis: 1\nnode: x\n-->", None),
        (f"<!-- polyresearch:claim\nthesis: {2**64}\nnode: x\n-->", None),
        ("<!-- polyresearch:claim\nthesis: \u0661\nnode: x\n-->", None),
        ("<!-- polyresearch:claim\nthesis: -1\nnode: x\n-->", None),
        ("<!-- polyresearch:Claim\nthesis: 1\nnode: x\n-->", None),
    ],
)
def test_bodies_are_read_as_every_node_reads_them(body: str, expected: object) -> None:
    assert parse(body) == expected


def test_a_body_made_to_be_slow_is_read_at_once() -> None:
    for evil in ("<!-- polyresearch:a" + "\n" * 60_000, "<!-- polyresearch:a " * 20_000, "<!--" + " " * 60_000):
        assert parse(evil) is None


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("2026-04-06T14:30:00Z", "2026-04-06T14:30:00Z"),
        ("2026-04-06t14:30:00.5-01:30", "2026-04-06T16:00:00.500Z"),
        ("2026-04-06 14:30:00.123456789+00:00", "2026-04-06T14:30:00.123456789Z"),
        ("2026-04-06T14:30:00.1234000Z", "2026-04-06T14:30:00.123400Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:60Z"),
        ("2026-04-06T14:30:00", None),
        ("2026-02-30T14:30:00Z", None),
        ("2026-04-06T14:30Z", None),
        ("2026-04-06T14:30:00+24:00", None),
    ],
)
def test_times_are_read_in_utc(given: str, read: str | None) -> None:
    block = next(block for block in TEXTS if isinstance(block, b.ReviewBlock))
    found = parse(TEXTS[block].replace("2026-04-06T14:30:00.250+00:00", given))
    assert getattr(found, "timestamp", None) == read
