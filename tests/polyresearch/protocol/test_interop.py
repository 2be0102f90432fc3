"""Stories told at random, read by us and by a reader with the existing tool's rules."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_args

import pytest
from herdr_polyresearch.protocol import blocks as b
from herdr_polyresearch.protocol.model import Phase
from herdr_polyresearch.protocol.repairs import repairs
from herdr_polyresearch.protocol.words import Outcome, Reason

STORIES = int(os.environ.get("POLYRESEARCH_FUZZ", "4000")) // 10
PEOPLE = ("lead", "boss", "alice", "bob", "carol")
FINAL: tuple[Outcome, ...] = ("accepted", "non_improvement", "disagreement", "stale", "infra_failure")


def story_of(rng: random.Random, s: Any) -> Any:
    """Add events at random; half of the stories never come to a pull request."""
    kinds = 14 if rng.random() < 0.5 else 9
    for _ in range(rng.randrange(5, 40)):
        tell(rng, s, rng.randrange(kinds))
    return s


def tell(rng: random.Random, s: Any, event: int) -> None:
    """Add one event, sensible or not."""
    who = rng.choice(PEOPLE)
    node = rng.choice(("alice/n", "alice/n", "bob/n", "alice/m"))
    if rng.random() < 0.75:
        who = node.partition("/")[0]
    thesis = 12 if rng.random() < 0.9 else 13
    number = rng.choice((50, 50, 51))
    branch = f"thesis/12-rmsnorm-attempt-{rng.randrange(3)}"
    if event < 2:
        s.say("lead" if event else who, b.ApprovalBlock(thesis=thesis))
    elif event < 5:
        s.say(who, b.ClaimBlock(thesis=thesis, node=node))
    elif event == 5:
        reasons: tuple[Reason, ...] = ("no_improvement", "timeout", "infra_failure")
        reason = rng.choice(reasons)
        s.say(rng.choice((who, "lead")), b.ReleaseBlock(thesis=thesis, node=node, reason=reason))
    elif event < 8:
        s.say(
            who,
            b.AttemptBlock(
                thesis=thesis, branch=branch, metric=1.5, baseline_metric=1.0, observation="improved", summary="s"
            ),
        )
    elif event == 8:
        s.say(
            rng.choice(("boss", who)),
            rng.choice(("/approve", "/reject", "/approve\tyes")),
            rng.choice((12, number)),
        )
    elif event == 9 and number not in s.pulls:
        s.pull(number, branch, author=who)
    elif event == 10 and number in s.pulls:
        s.say(
            rng.choice(("lead", "lead", who)), b.PolicyPassBlock(thesis=thesis, candidate_sha="a1b2c3d"), number
        )
    elif event == 11 and number in s.pulls:
        s.say(who, b.ReviewClaimBlock(thesis=thesis, node=node), number)
        s.review(node, number=number, claim=False)
    elif event == 12 and number in s.pulls and s.pulls[number].state == "open":
        outcome = rng.choice(FINAL)
        block = b.DecisionBlock(
            thesis=12, candidate_sha="a1b2c3d", outcome=outcome, confirmations=rng.randrange(2)
        )
        s.say(rng.choice(("lead", "lead", who)), block, number)
        s.end(number, "merged" if outcome == "accepted" else "closed")
    elif event == 13:
        s.wait(hours=rng.choice((1, 5))) if rng.random() < 0.8 else s.end(12)


def phase_without_strangers(s: Any, existing: Any) -> str:
    """What the existing tool sees of #12 once the pull requests of nobody who worked on it are closed."""
    kept = dict(s.pulls)
    for candidate in s.thesis.candidates:
        if candidate.open and not s.thesis.backs(candidate):
            s.end(candidate.pull.number)
    try:
        return str(existing(s).phases[12])
    finally:
        s.pulls = kept


@pytest.mark.timeout(600)
def test_both_readers_come_to_the_same(story: Callable[..., Any], existing: Any) -> None:
    phases: Counter[Any] = Counter()
    for seed in range(STORIES):
        s = story_of(random.Random(seed), story(assignment_timeout=timedelta(hours=4)))
        theirs, thesis = existing(s), s.thesis
        assert s.phase == phase_without_strangers(s, existing), seed
        assert [f.comment_id for f in s.state.findings] == sorted(theirs.findings), seed
        assert [a.branch for a in thesis.attempts] == theirs.attempts[12], seed
        if thesis.phase != "resolved":
            assert [c.node for c in thesis.active_claims] == [c for c in [theirs.claims[12]] if c], seed
        phases[thesis.phase] += 1
    # Stories that never come to a phase would show nothing of it.
    assert set(phases) == set(get_args(Phase))


@pytest.mark.timeout(600)
def test_repairs_please_both_readers_and_are_made_once(story: Callable[..., Any], existing: Any) -> None:
    for seed in range(STORIES):
        s = story_of(random.Random(seed), story(assignment_timeout=timedelta(hours=4)))
        before = set(existing(s).findings)
        for repair in repairs(s.state):
            s.say("lead", repair.block, repair.thread)
        assert repairs(s.state) == (), seed
        assert set(existing(s).findings) <= before, seed
        assert s.phase == phase_without_strangers(s, existing), seed
