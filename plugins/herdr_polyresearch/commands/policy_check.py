"""`polyresearch policy-check`: what a candidate changes, held against PROGRAM.md's lists."""

from __future__ import annotations

from collections.abc import Sequence

import click

from herdr.api import HerdrError
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.lead import assign_maintainer, check_clean, finish, reject
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import PROGRAM_FILE, Project
from herdr_polyresearch.forge.base import ChangedFile
from herdr_polyresearch.protocol.blocks import PolicyPassBlock
from herdr_polyresearch.protocol.model import Candidate, Thesis
from herdr_polyresearch.protocol.policy import Violation, check
from herdr_polyresearch.protocol.surface import read_surface


@command("policy-check")
@click.argument("pr", type=int)
def policy_check(pr: int) -> None:
    """Pass a candidate whose every file may be changed, at its present commit; reject any other.

    Both names of a renamed file count, and so do modes, symbolic links and submodules.
    """
    project = Project()
    project.as_lead()
    candidate, thesis = project.candidate(pr)
    if (
        candidate.decision
        and candidate.decision.outcome == "policy_rejection"
        and finish(project, candidate, thesis)
    ):
        _tell(project, candidate, thesis, [])
        return
    check_clean(project, "check candidates")
    _check_open(candidate, thesis, project.default_branch)
    text = project.checkout.file(project.tip, PROGRAM_FILE) or project.program_text
    found = check(read_surface(text), _changes(project, candidate))
    if not project.dry_run:
        if found:
            reject(project, candidate, thesis)
        else:
            project.post(pr, PolicyPassBlock(thesis=thesis.number, candidate_sha=candidate.pull.head_sha))
            if not project.program.auto_approve:
                assign_maintainer(project, pr, candidate.pull.assignees)
    _tell(project, candidate, thesis, found)


def _check_open(candidate: Candidate, thesis: Thesis, default: str) -> None:
    """See that there is something to check."""
    number, problem = candidate.pull.number, None
    if candidate.decision:
        problem = f"PR #{number} has a decision already: {candidate.decision.outcome}"
    elif not candidate.open:
        problem = f"PR #{number} is {candidate.pull.state}"
    elif candidate.pull.base_ref != default:
        problem = f"PR #{number} goes into {candidate.pull.base_ref}, not into {default}"
    elif not thesis.backs(candidate):
        # A rejection would end a thesis that its author has nothing to do with.
        problem = (
            f"PR #{number} is of nobody who claimed thesis #{thesis.number} or recorded its branch: close it"
        )
    elif candidate.policy_pass:
        problem = f"PR #{number} has a policy pass for its present commit already"
    if problem:
        raise GuardError(problem, fix="polyresearch duties lists what is to be done")


def _changes(project: Project, candidate: Candidate) -> Sequence[ChangedFile]:
    """What the candidate's present commit changes, by git, which knows modes and has no pages.

    Where the commit cannot be fetched the forge is asked, and asked again whether it is still the same commit.
    """
    pull, checkout = candidate.pull, project.checkout
    base = project.tip
    if base and checkout.fetch_pull(pull.number, pull.head_ref, pull.head_sha):
        return checkout.changes(base, pull.head_sha)
    if "changed_files" not in project.forge.capabilities:
        raise HerdrError(
            f"the commit {pull.head_sha[:12]} of PR #{pull.number} cannot be fetched",
            fix=f"git fetch origin {pull.head_ref}",
        )
    changes = project.forge.changed_files(pull.number)
    latest = project.forge.pull(pull.number).head_sha
    if latest != pull.head_sha:
        raise GuardError(
            f"PR #{pull.number} moved to {latest[:12]} while it was checked",
            fix=f"polyresearch policy-check {pull.number}, once more",
        )
    return changes


def _tell(project: Project, candidate: Candidate, thesis: Thesis, found: Sequence[Violation]) -> None:
    number = candidate.pull.number
    decided = candidate.decision is not None
    passed = not found and not decided
    data = {
        "pr": number,
        "thesis": thesis.number,
        "passed": passed,
        "violating_files": [one.path for one in found],
        "violations": list(found),
        "candidate_sha": candidate.pull.head_sha,
    }
    if decided:
        said = f"PR #{number} was rejected before; what was left to do is done."
    elif passed:
        said = f"PR #{number} {'would pass' if project.dry_run else 'passed'} the editable-surface policy check."
    else:
        verb = "would fail" if project.dry_run else "failed"
        said = (
            f"PR #{number} {verb} policy check. Violations: {', '.join(f'{v.path} ({v.reason})' for v in found)}"
        )
    tell(project, data, said)
