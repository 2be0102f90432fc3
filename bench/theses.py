"""A big research project as a forge holds it: 1,000 theses, 500 pull requests, 10,000 comments that all count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone

from herdr_polyresearch.protocol.blocks import (
    ApprovalBlock,
    AttemptBlock,
    Block,
    ClaimBlock,
    DecisionBlock,
    PolicyPassBlock,
    ReleaseBlock,
    ReviewBlock,
    ReviewClaimBlock,
)
from herdr_polyresearch.protocol.comments import render
from herdr_polyresearch.protocol.names import attempt_branch, thesis_branch
from herdr_polyresearch.protocol.program import Program
from herdr_polyresearch.protocol.threads import THESIS_LABEL, Comment, Issue, PullRequest, Repo, Snapshot

THESES, PULLS, COMMENTS = 1000, 500, 10_000
#: Attempts at a thesis that has a pull request, and at one that was given up: ten comments a thesis.
ATTEMPTS, GIVEN_UP = 4, 7
#: One pull request of so many waits for its decision.
OPEN = 5
START = datetime(2026, 4, 10, 9, tzinfo=timezone.utc)
#: After the last comment, and before the first claim expires.
NOW = START + timedelta(seconds=2 * COMMENTS)
PROGRAM = Program(required_confirmations=1, metric_tolerance=0.01, lead_github_login="lead")
BASE = "b" * 40

#: A number of a thread, who speaks there, and what.
Said = tuple[int, str, Block]


def branches() -> list[str]:
    """The branches of all pull requests, in the order of their theses."""
    return [_branch(number, ATTEMPTS) for number in range(1, PULLS + 1)]


def project(heads: Mapping[str, str]) -> Snapshot:
    """The whole project.

    Args:
        heads: the commit of each of `branches()`.
    """
    shas = [heads[branch] for branch in branches()]
    said = [one for number in range(1, THESES + 1) for one in _thesis(number, shas)]
    comments: dict[int, tuple[Comment, ...]] = {}
    for at, (thread, author, block) in enumerate(said, 1):
        when = START + timedelta(seconds=at)
        made = Comment(id=at, thread=thread, author=author, body=render(block), created_at=when, updated_at=when)
        comments[thread] = (*comments.get(thread, ()), made)
    return Snapshot(
        repo=Repo(full_name="lead/lab", collaborators=frozenset({"lead"})),
        issues=tuple(map(_issue, range(1, THESES + 1))),
        pulls=tuple(_pull(number, shas[number - 1]) for number in range(PULLS, 0, -1)),
        comments=comments,
    )


def _thesis(number: int, shas: Sequence[str]) -> Iterator[Said]:
    """All that was said on a thesis and on its pull request."""
    with_pull = number <= PULLS
    yield number, "lead", ApprovalBlock(thesis=number)
    yield number, "alice", ClaimBlock(thesis=number, node="alice/one")
    count = ATTEMPTS if with_pull else GIVEN_UP
    for attempt in range(1, count + 1):
        yield number, "alice", _attempt(number, attempt, improved=with_pull and attempt == count)
    if not with_pull:
        yield number, "alice", ReleaseBlock(thesis=number, node="alice/one", reason="no_improvement")
        return
    pull, sha = THESES + number, shas[number - 1]
    yield pull, "lead", PolicyPassBlock(thesis=number, candidate_sha=sha)
    yield pull, "bob", ReviewClaimBlock(thesis=number, node="bob/two")
    yield pull, "bob", _review(number, sha)
    if _is_decided(number):
        yield pull, "lead", DecisionBlock(thesis=number, candidate_sha=sha, outcome="accepted", confirmations=1)
    else:
        yield pull, "carol", ReviewClaimBlock(thesis=number, node="carol/three")


def _is_decided(number: int) -> bool:
    return number <= PULLS and number % OPEN != 0


def _title(number: int) -> str:
    return f"Replace step {number} of the pipeline by a cheaper one"


def _branch(number: int, attempt: int) -> str:
    return attempt_branch(thesis_branch(number, _title(number)), attempt)


def _attempt(number: int, attempt: int, *, improved: bool) -> AttemptBlock:
    return AttemptBlock(
        thesis=number,
        branch=_branch(number, attempt),
        metric=1.5 if improved else 1.0,
        baseline_metric=1.0,
        observation="improved" if improved else "no_improvement",
        summary=f"Step {number} is done in another way, and the caches before it are kept warm (try {attempt})",
    )


def _review(number: int, sha: str) -> ReviewBlock:
    return ReviewBlock(
        thesis=number,
        candidate_sha=sha,
        base_sha=BASE,
        node="bob/two",
        metric=1.5,
        baseline_metric=1.0,
        observation="improved",
        env_sha=None,
        timestamp="2026-04-10T12:00:00Z",
    )


def _issue(number: int) -> Issue:
    decided = _is_decided(number)
    return Issue(
        number=number,
        title=_title(number),
        author="lead",
        created_at=START,
        body="What is wanted is the same result in less time; the measure and its noise are in PREPARE.md.",
        state="closed" if decided else "open",
        state_reason="completed" if decided else None,
        closed_at=NOW if decided else None,
        labels=(THESIS_LABEL,),
    )


def _pull(number: int, sha: str) -> PullRequest:
    decided = _is_decided(number)
    return PullRequest(
        number=THESES + number,
        title=_title(number),
        author="alice",
        created_at=START,
        head_ref=_branch(number, ATTEMPTS),
        head_sha=sha,
        base_ref="main",
        state="merged" if decided else "open",
        closed_at=NOW if decided else None,
        merged_at=NOW if decided else None,
        merge_sha=sha if decided else None,
    )
