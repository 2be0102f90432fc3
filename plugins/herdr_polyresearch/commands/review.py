"""`polyresearch review-claim` and `review`: measuring what others made."""

from __future__ import annotations

import click

from herdr.api import HerdrError
from herdr_polyresearch.commands.environment import env_sha
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.measured import check_measured, finite, mean_of
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project, now, warn
from herdr_polyresearch.protocol.blocks import ReviewBlock, ReviewClaimBlock
from herdr_polyresearch.protocol.model import Candidate, Thesis
from herdr_polyresearch.protocol.names import WORKTREES, same_commit
from herdr_polyresearch.protocol.scalars import time_text
from herdr_polyresearch.protocol.words import FAILED, OBSERVATIONS, Observation


@command("review-claim")
@click.argument("pr", type=int)
def review_claim(pr: int) -> None:
    """Say that this node evaluates a candidate; prints the two commits to evaluate."""
    project = Project()
    node = project.as_contributor("review").node_id
    candidate, thesis = _reviewable(project, pr)
    if any(claim.node == node for claim in candidate.review_claims):
        raise GuardError(
            f"node `{node}` has claimed the review of #{pr} already", fix=f"polyresearch review {pr} …"
        )
    taken = [claim.node for claim in candidate.review_claims if not claim.expired]
    if len(taken) >= project.program.required_confirmations:
        warn(
            f"#{pr} needs {project.program.required_confirmations} reviews, and {len(taken)} are claimed already"
        )
    sha = candidate.pull.head_sha
    base = _base(project, candidate)
    if not project.dry_run:
        project.post(pr, ReviewClaimBlock(thesis=thesis.number, node=node))
    done = "Would claim" if project.dry_run else "Claimed"
    path = project.checkout.main / WORKTREES / f"review-{pr}"
    look = f"checkout --detach {sha}" if project.checkout.in_run else f"worktree add --detach {path} {sha}"
    said = [f"{done} PR #{pr} for review on thesis #{thesis.number} as `{node}`.", f"Candidate: {sha}"]
    said.append(f"Base: {base or 'not known here; fetch the branch'}")
    said.append(f"NEXT: git {look}")
    data = {"pr": pr, "issue": thesis.number, "node": node, "candidate_sha": sha, "base_sha": base}
    tell(project, data, "\n".join(said))


@command()
@click.argument("pr", type=int)
@click.option("--metric", type=finite, metavar="NUMBER", help="What you measured of the candidate.")
@click.option("--baseline", type=finite, metavar="NUMBER", help="What you measured of the base.")
@click.option("--observation", type=click.Choice(OBSERVATIONS), required=True)
@click.option("--candidate-sha", metavar="SHA", help="What you evaluated; the candidate's head when absent.")
@click.option("--base-sha", metavar="SHA", help="Its base; where it left the default branch when absent.")
def review(
    pr: int,
    metric: float | None,
    baseline: float | None,
    observation: Observation,
    candidate_sha: str | None,
    base_sha: str | None,
) -> None:
    """Record what you measured of a candidate and of its base, each by yourself."""
    value = mean_of(metric, (), observation)
    if baseline is None and observation not in FAILED:
        raise click.UsageError(f"--baseline is needed for the observation {observation}")
    project = Project()
    node = project.as_contributor("review").node_id
    candidate, thesis = _reviewable(project, pr)
    head = candidate.pull.head_sha
    _check_claim(project, candidate, node)
    if candidate_sha and not same_commit(candidate_sha, head):
        raise GuardError(
            f"you evaluated {candidate_sha[:12]}, and #{pr} is at {head[:12]} now", fix=f"evaluate {head[:12]}"
        )
    base = base_sha or _base(project, candidate)
    if base is None:
        raise HerdrError(
            f"the base of #{pr} is not known here: {head[:12]} could not be fetched from origin",
            fix="give the commit that you evaluated as --base-sha",
        )
    check_measured(project.program, value, baseline or 0.0, observation)
    environment = env_sha(project.checkout.root)
    block = ReviewBlock(
        thesis=thesis.number,
        candidate_sha=head,
        base_sha=project.checkout.commit(base) or base,
        node=node,
        metric=value,
        baseline_metric=baseline or 0.0,
        observation=observation,
        env_sha=environment,
        timestamp=time_text(now()),
    )
    if not project.dry_run:
        project.post(pr, block)
    done = "Would record" if project.dry_run else "Recorded"
    data = {
        "pr": pr,
        "issue": thesis.number,
        "node": node,
        "candidate_sha": head,
        "base_sha": block.base_sha,
        "env_sha": environment,
    }
    said = f"{done} review for PR #{pr} on thesis #{thesis.number} (candidate {head}, base {block.base_sha})."
    tell(project, data, said)


def _reviewable(project: Project, number: int) -> tuple[Candidate, Thesis]:
    """Return a pull request that we may review now."""
    candidate, thesis = project.candidate(number)
    problem, fix = None, "polyresearch duties lists what can be reviewed"
    if candidate.decision:
        problem = f"PR #{number} was decided: {candidate.decision.outcome}"
    elif not candidate.open:
        problem = f"PR #{number} is {candidate.pull.state}"
    elif candidate.pull.author == project.login:
        problem, fix = f"PR #{number} is your own", "another account has to review it"
    elif not candidate.policy_pass:
        problem = f"PR #{number} has not passed the policy check at its present commit"
        fix = f"wait for the lead's polyresearch policy-check {number}"
    if problem:
        raise GuardError(problem, fix=fix)
    return candidate, thesis


def _check_claim(project: Project, candidate: Candidate, node: str) -> None:
    """See that this node claimed the review, and has not reviewed this commit."""
    number = candidate.pull.number
    claim = next((claim for claim in candidate.review_claims if claim.node == node), None)
    if claim is None or claim.author != project.login:
        whose = f"as {claim.author}, and you are {project.login}" if claim else "by this node"
        raise GuardError(
            f"the review of #{number} was {'' if claim else 'not '}claimed {whose}",
            fix=f"polyresearch review-claim {number}",
        )
    if any(review.node == node for review in candidate.current_reviews):
        raise GuardError(f"node `{node}` has reviewed #{number} already", fix="polyresearch duties")


def _base(project: Project, candidate: Candidate) -> str | None:
    """Where a candidate left the default branch; None when its commits cannot be had."""
    pull = candidate.pull
    tip = project.tip
    if tip is None or not project.checkout.fetch_pull(pull.number, pull.head_ref, pull.head_sha):
        return None
    return project.checkout.merge_base(tip, pull.head_sha)
