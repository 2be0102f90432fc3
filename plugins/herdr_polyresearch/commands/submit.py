"""`polyresearch submit`."""

from __future__ import annotations

import click

from herdr_polyresearch.commands.attempt import held_thesis
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project, warn
from herdr_polyresearch.forge.base import PullRequest
from herdr_polyresearch.protocol.clean import clean_value
from herdr_polyresearch.protocol.model import Attempt, Thesis
from herdr_polyresearch.protocol.names import same_commit
from herdr_polyresearch.protocol.policy import check
from herdr_polyresearch.protocol.scalars import show_metric
from herdr_polyresearch.protocol.surface import read_surface


@command()
@click.argument("issue", type=int)
def submit(issue: int) -> None:
    """Push the branch that we are on, which has an improved attempt, and open its pull request."""
    project = Project()
    node = project.as_contributor("submit candidates").node_id
    thesis = held_thesis(project, issue, node)
    attempt = _attempt(project, thesis)
    _check_candidates(thesis, attempt)
    _check_head(project, thesis, attempt)
    _warn_of_policy(project)
    pull = None if project.dry_run else _open(project, thesis, attempt)
    where = f" as PR #{pull.number} ({pull.url or project.snapshot.repo.full_name})" if pull else ""
    done = "Would submit" if project.dry_run else "Submitted"
    data = {
        "issue": issue,
        "branch": attempt.branch,
        "pr_number": pull.number if pull else 0,
        "pr_url": (pull.url or None) if pull else None,
        "candidate_sha": project.checkout.head,
    }
    tell(project, data, f"{done} thesis #{issue} from `{attempt.branch}`{where}.")


def _attempt(project: Project, thesis: Thesis) -> Attempt:
    """Return the improved attempt of the branch that we are on."""
    branch = project.checkout.branch
    attempt = next((a for a in thesis.attempts if a.branch == branch), None)
    if attempt is None or attempt.observation != "improved":
        improved = [a.branch for a in thesis.attempts if a.observation == "improved"]
        raise GuardError(
            f"{f'branch `{branch}`' if branch else 'this checkout'} has no improved attempt of thesis "
            f"#{thesis.number} on record",
            fix=f"git checkout {improved[-1]}"
            if improved
            else f"polyresearch attempt {thesis.number} … --observation improved",
        )
    return attempt


def _check_candidates(thesis: Thesis, attempt: Attempt) -> None:
    """See that the branch is not submitted or decided already."""
    for candidate in thesis.candidates:
        if candidate.pull.head_ref != attempt.branch:
            continue
        number = candidate.pull.number
        if candidate.open:
            raise GuardError(
                f"branch `{attempt.branch}` has an open pull request: #{number}", fix="wait for the lead"
            )
        if candidate.decision:
            raise GuardError(
                f"branch `{attempt.branch}` was submitted as #{number} and decided: {candidate.decision.outcome}",
                fix=f"make another attempt, or polyresearch release {thesis.number} --reason no_improvement",
            )


def _check_head(project: Project, thesis: Thesis, attempt: Attempt) -> None:
    """See that what is submitted is what was measured."""
    checkout = project.checkout
    if checkout.dirty:
        raise GuardError(
            f"{', '.join(checkout.dirty[:5])} differs from the last commit",
            fix="git stash, or git checkout -- the files: only what was measured can be submitted",
        )
    if attempt.commit and not same_commit(attempt.commit, checkout.head):
        raise GuardError(
            f"HEAD is {checkout.head[:12]}, and the attempt on `{attempt.branch}` measured {attempt.commit[:12]}",
            fix=f"git reset --keep {attempt.commit[:12]}, or measure HEAD as an attempt of its own",
        )
    tip = project.tip
    if tip and (checkout.is_ancestor(checkout.head, tip) or not checkout.changes(tip, checkout.head)):
        raise GuardError(
            f"branch `{attempt.branch}` changes no file of {project.default_branch}",
            fix=f"polyresearch release {thesis.number} --reason no_improvement",
        )


def _warn_of_policy(project: Project) -> None:
    """Say beforehand what the lead's check will find."""
    tip = project.tip
    if tip is None:
        return
    for found in check(read_surface(project.program_text), project.checkout.changes(tip, project.checkout.head)):
        warn(f"{found.path}: {found.reason}; the policy check will reject this candidate")


def _open(project: Project, thesis: Thesis, attempt: Attempt) -> PullRequest:
    """Push the branch and open its pull request."""
    branch = attempt.branch
    project.checkout.push(branch)
    baseline = "none" if attempt.baseline_metric is None else show_metric(attempt.baseline_metric)
    body = (
        f"References #{thesis.number}\n\nSelf-reported metric: {show_metric(attempt.metric)}\n"
        f"Baseline: {baseline}\nSummary: {clean_value(attempt.summary)}"
    )
    title = f"Thesis #{thesis.number}: {clean_value(thesis.issue.title)}"
    return project.forge.create_pr(title, body, head=branch, base=project.default_branch)
