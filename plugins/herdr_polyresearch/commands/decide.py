"""`polyresearch decide`: the outcome of a candidate, and what follows from it."""

from __future__ import annotations

import click

from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.lead import assign_maintainer, carry_out, check_clean, finish
from herdr_polyresearch.commands.merges import before_merges
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.protocol.decide import MESSAGES, Verdict
from herdr_polyresearch.protocol.decide import decide as find_verdict
from herdr_polyresearch.protocol.model import Candidate


@command()
@click.argument("pr", type=int)
def decide(pr: int) -> None:
    """Decide a candidate that passed the policy check and has its reviews; merge or close it.

    A decide that was interrupted is finished by the next one.
    """
    project = Project()
    project.as_lead()
    candidate, thesis = project.candidate(pr)
    left = finish(project, candidate, thesis)
    if candidate.decision and left:
        done = "Would finish" if project.dry_run else "Finished"
        outcome, confirmations = candidate.decision.outcome, candidate.decision.confirmations
        said = f"{done} the decision `{outcome}` on PR #{pr}: {', '.join(left)}."
    else:
        check_clean(project, "decide candidates")
        heads = project.checkout.bases(project.tip) if project.tip else None
        found = find_verdict(
            project.state, project.program, project.ledger, pr, heads, _merged(project, candidate)
        )
        if not isinstance(found, Verdict):
            if found in ("maintainer_pending", "maintainer_rejected"):
                assign_maintainer(project, pr, candidate.pull.assignees)
            message, fix = MESSAGES[found]
            raise GuardError(f"PR #{pr} cannot be decided: {message}", fix=fix.replace("<pr>", str(pr)))
        if not project.dry_run:
            carry_out(project, candidate, thesis, found)
        outcome, confirmations = found.outcome, found.confirmations
        done = "would be decided" if project.dry_run else "decided"
        said = f"PR #{pr} on thesis #{thesis.number} {done} as `{outcome}`.\nNEXT: polyresearch sync"
    data = {"pr": pr, "thesis": thesis.number, "outcome": outcome, "confirmations": confirmations}
    tell(project, data, said)


def _merged(project: Project, candidate: Candidate) -> tuple[str, ...]:
    """What the candidate's branch was before the default branch was merged into it, as git knows it here."""
    pull, tip = candidate.pull, project.tip
    if tip is None or not project.checkout.fetch_pull(pull.number, pull.head_ref, pull.head_sha):
        return ()
    return before_merges(project.checkout, pull.head_sha, tip)
