"""Both modes of deciding, every branch, and what a half-done decision still lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.comments import parse, render
from herdr_polyresearch.protocol.decide import MESSAGES, Verdict, decide, decision_block, unfinished, verdict
from herdr_polyresearch.protocol.ledger import Ledger, read_ledger
from herdr_polyresearch.protocol.repairs import repairs

Start = Callable[..., Any]
HEADER = "thesis\tattempt\tmetric\tbaseline\tstatus\tsummary\n"


def result(s: Any, ledger: Ledger | None = None, heads: Any = ("c0d1e2f",), number: int = 50) -> str:
    found = decide(s.state, s.program, ledger or Ledger(), number, heads)
    return found.outcome if isinstance(found, Verdict) else f"refuse:{found}"


def reviewed(story: Start, *reviews: dict[str, Any], **program: Any) -> Any:
    s = story(required_confirmations=2, **program).submitted().passed()
    for number, review in enumerate(reviews):
        s.review(f"r{number}/n", **review)
    return s


@pytest.mark.parametrize(
    ("metric", "baseline", "outcome"),
    [
        (1.0101, 1.0, "accepted"),
        (1.01, 1.0, "non_improvement"),  # exactly the tolerance, whatever binary fractions say
        (0.3, 0.29, "non_improvement"),
        (0.9, 1.0, "non_improvement"),
        (float("nan"), 1.0, "non_improvement"),
        (float("inf"), 1.0, "non_improvement"),
        (1.5, float("-inf"), "non_improvement"),
        (1.5, None, "non_improvement"),
    ],
)
def test_a_report_must_beat_its_baseline_beyond_the_tolerance(
    story: Start, metric: float, baseline: float | None, outcome: str
) -> None:
    s = story().submitted(metric, baseline=baseline).passed()
    assert result(s) == outcome


def test_a_difference_that_four_decimals_lose_decides(story: Start) -> None:
    s = story(metric_tolerance=1e-6, metric_direction="lower_is_better").submitted(1e-5, baseline=2e-5).passed()
    assert result(s) == "accepted"


@pytest.mark.parametrize(
    ("runs", "outcome"),
    [
        ((1.005, 1.02, 1.02), "accepted"),  # their mean is beyond the tolerance, though one run is not
        ((0.999, 1.02, 1.05), "non_improvement"),  # the worst is worse than the baseline
        ((1.001, 1.001, 1.001), "non_improvement"),
        ((1.0, 1.5), "accepted"),  # two runs are no evidence of their own: the metric counts
        ((1.02, 1.02, float("nan")), "non_improvement"),
    ],
)
def test_the_mean_of_three_runs_counts_when_none_is_worse_than_the_baseline(
    story: Start, runs: tuple[float, ...], outcome: str
) -> None:
    assert result(story().submitted(1.25, runs=runs).passed()) == outcome


def test_the_bar_is_the_best_accepted_row(story: Start) -> None:
    s = story().submitted(1.5).passed()
    rows = "".join(f"#{n}\tthesis/{n}-x\t{m}\t1\taccepted\tx\n" for n, m in ((3, "1.4"), (4, "1.6"), (5, "inf")))
    assert result(s, read_ledger(HEADER + rows)) == "non_improvement"
    assert result(s, read_ledger(HEADER + rows.replace("1.6\t", "N/A\t"))) == "accepted"


def test_a_zero_review_decision_is_never_stale(story: Start) -> None:
    assert result(story().submitted().passed(), heads=("eeeeeee",)) == "accepted"


@pytest.mark.parametrize(
    ("reviews", "outcome"),
    [
        ([{}, {}], "accepted"),
        ([{"metric": 1.5}, {"metric": 1.51}], "accepted"),  # 0.01 apart, which is within 0.01
        ([{"metric": 1.5}, {"metric": 1.5101}], "disagreement"),
        ([{"metric": 1.5}, {"metric": float("nan")}], "disagreement"),
        ([{"observation": "no_improvement"}, {"observation": "no_improvement"}], "non_improvement"),
        ([{}, {"observation": "no_improvement"}], "disagreement"),
        ([{}, {"observation": "crashed"}], "infra_failure"),
        ([{}, {}, {"observation": "crashed"}], "disagreement"),
        ([{"env_sha": "aa"}, {"env_sha": None}], "accepted"),
        ([{"env_sha": "aa"}, {"env_sha": "bb"}], "disagreement"),
        ([{}, {"base_sha": "eeeeeee"}], "stale"),
        ([{"base_sha": "c0d1e2f"}, {"base_sha": "c0d1e2f"}], "accepted"),
        ([{}], "refuse:not_enough_reviews"),
        ([{}, {"candidate_sha": "ffff111"}], "refuse:not_enough_reviews"),
    ],
)
def test_reviews_decide(story: Start, reviews: list[dict[str, Any]], outcome: str) -> None:
    assert result(reviewed(story, *reviews)) == outcome


def test_a_base_before_a_commit_of_the_ledger_is_not_stale(story: Start) -> None:
    s = reviewed(story, {}, {"base_sha": "b1b2b3b4b5"})
    assert result(s, heads=("c0d1e2f", "b1b2b3b4b5")) == "accepted"
    assert result(s, heads=None) == "accepted"


def test_refusals_in_their_order(story: Start) -> None:
    s = story(auto_approve=False, metric_tolerance=None, maintainer_github_login=None).submitted()
    lost = s.say("bob", b.ClaimBlock(thesis=12, node="bob/n2"))
    s.attempt(0.0, observation="crashed")
    assert result(s) == "refuse:dirty_audit"
    s.say("lead", b.AdminNoteBlock(action="acknowledge_invalid", target="t", note="n", related_comment_id=lost))
    assert result(s) == "refuse:stale_ledger"
    full = read_ledger(HEADER + "#12\tthesis/12-rmsnorm-attempt-2\t\N{EM DASH}\t1.0000\tcrashed\tx\n")
    assert result(s, full, number=99) == "refuse:not_found"
    assert result(s, full) == "refuse:no_policy_pass"
    s.passed()
    assert result(s, full) == "refuse:no_maintainer"
    s.program = type(s.program)(auto_approve=False, maintainer_github_login="boss", lead_github_login="lead")
    assert result(s, full) == "refuse:maintainer_pending"
    s.say("boss", "/reject no", 50)
    assert result(s, full) == "refuse:maintainer_rejected"
    s.say("boss", "/approve yes", 50)
    assert result(s, full) == "refuse:no_tolerance"


def test_no_attempt_no_decision(story: Start) -> None:
    s = story().claimed().pull().passed()
    assert result(s) == "refuse:no_attempt"


def test_only_the_commit_that_was_measured_is_decided(story: Start) -> None:
    s = story().submitted(commit="a1b2c3d").passed()
    assert result(s) == "accepted"
    s.push("ffff1111").passed(sha="ffff1111")
    assert result(s) == "refuse:not_measured"
    merged = decide(s.state, s.program, Ledger(), 50, None, ["a1b2c3d4e5"])
    assert isinstance(merged, Verdict), "the default branch was merged into it, and nothing else"
    assert result(s.end(50, "merged")) == "accepted", "what was merged by hand is a fact"


def test_an_attempt_that_names_no_commit_is_decided_by_its_branch(story: Start) -> None:
    assert result(story().submitted().push("ffff1111").passed(sha="ffff1111")) == "accepted"


def test_reviews_measured_the_present_commit_themselves(story: Start) -> None:
    s = story(required_confirmations=1).submitted(commit="a1b2c3d").push("ffff1111").passed(sha="ffff1111")
    s.review(candidate_sha="ffff1111")
    assert result(s) == "accepted"


def test_reviews_of_a_strangers_pull_request_end_no_thesis(story: Start) -> None:
    s = story(required_confirmations=1).approved().pull(author="eve").passed()
    s.review(observation="no_improvement")
    assert result(s) == "refuse:no_attempt"
    assert result(s.end(50, "merged")) == "accepted", "what was merged by hand is a fact"


def test_two_nodes_of_one_login_are_two_reviewers(story: Start) -> None:
    s = story(required_confirmations=2).submitted().passed()
    s.review("bob/one")
    assert result(s) == "refuse:not_enough_reviews"
    s.review("bob/two")
    assert result(s) == "accepted"


def test_nobody_submits_the_attempt_of_another_login(story: Start) -> None:
    s = story().claimed()
    branch = s.attempt()
    assert result(s.pull(author="eve", branch=branch).passed()) == "refuse:no_attempt"


def test_a_closed_pull_request_is_not_accepted(story: Start) -> None:
    s = story().submitted().passed().end(50, "closed")
    assert result(s) == "refuse:closed"


def test_every_refusal_says_what_helps() -> None:
    assert all(message and fix for message, fix in MESSAGES.values())


def test_a_decided_pull_request_is_not_decided_again(story: Start) -> None:
    s = story().submitted().passed().decided("accepted")
    ledger = read_ledger(HEADER + "#12\tthesis/12-rmsnorm-attempt-1\t1.5\t1\taccepted\tx\n")
    assert result(s, ledger) == "refuse:already_decided"


def test_a_merge_without_its_decision_is_made_good(story: Start) -> None:
    s = reviewed(story, {}, {}).end(50, "merged")
    found = decide(s.state, s.program, Ledger(), 50, ["eeeeeee"])
    assert isinstance(found, Verdict)
    assert (found.outcome, found.confirmations) == ("accepted", 2)
    assert found.actions == ("post_decision", "close_issue")


def test_a_decision_without_its_closing_is_finished(story: Start) -> None:
    s = story(required_confirmations=1).submitted().passed()
    block = b.DecisionBlock(thesis=12, candidate_sha="a1b2c3d", outcome="disagreement", confirmations=1)
    assert unfinished(s.state.candidates[0], s.thesis) == ()
    s.say("lead", block, 50)
    assert unfinished(s.state.candidates[0], s.thesis) == ("close_pr", "close_issue")
    s.end(50)
    assert unfinished(s.state.candidates[0], s.thesis) == ("close_issue",)
    s.end(12)
    assert unfinished(s.state.candidates[0], s.thesis) == ()


@pytest.mark.parametrize(
    ("outcome", "confirmations", "keeps"),
    [
        ("accepted", 0, False),
        ("non_improvement", 0, True),
        ("non_improvement", 2, False),
        ("disagreement", 2, False),
        ("stale", 2, True),
        ("infra_failure", 2, True),
        ("policy_rejection", 0, False),
    ],
)
def test_only_some_outcomes_end_the_thesis(outcome: Any, confirmations: int, keeps: bool) -> None:
    found = verdict(outcome, confirmations)
    assert found.keeps_thesis == keeps
    assert ("close_issue" in found.actions) != keeps


@pytest.mark.parametrize("outcome", ["stale", "infra_failure"])
def test_a_requeued_thesis_can_be_claimed_again_in_the_eyes_of_every_node(
    story: Start, existing: Any, outcome: Any
) -> None:
    s = reviewed(story, {}, {})
    thread, block = decision_block(s.state.candidates[0], s.thesis, verdict(outcome, 2))
    assert thread == 12
    assert parse(render(block)) == block
    s.say("lead", block, thread)
    s.end(50)
    for repair in repairs(s.state):
        s.say("lead", repair.block, repair.thread)
    assert s.phase == existing(s).phases[12] == "approved"
    s.claimed("bob/n2")
    s.attempt(by="bob")
    assert s.phase == existing(s).phases[12] == "claimed"
    assert s.faults == existing(s).findings == []


def test_a_final_decision_is_posted_on_the_pull_request(story: Start) -> None:
    s = reviewed(story, {}, {})
    thread, block = decision_block(s.state.candidates[0], s.thesis, verdict("disagreement", 2))
    assert (thread, block.pr) == (50, None)


def test_a_fresh_attempt_after_a_report_that_was_not_enough(story: Start, existing: Any) -> None:
    s = story().submitted(1.001).passed()
    found = decide(s.state, s.program, Ledger(), 50, None)
    assert isinstance(found, Verdict)
    thread, block = decision_block(s.state.candidates[0], s.thesis, found)
    s.say("lead", block, thread)
    s.end(50)
    assert repairs(s.state) == (), "its claim goes on"
    s.attempt(1.9)
    assert len(s.thesis.attempts) == 2
    assert s.faults == existing(s).findings == []
