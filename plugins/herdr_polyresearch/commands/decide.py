"""`polyresearch decide`: the outcome of a candidate, and what follows from it."""

from __future__ import annotations

import click

from herdr_polyresearch.commands.lead import assign_maintainer, carry_out, check_clean, finish
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import tell
from herdr_polyresearch.commands.problems import GuardError
from herdr_polyresearch.commands.session import Session
from herdr_polyresearch.protocol.decide import MESSAGES, Verdict
from herdr_polyresearch.protocol.decide import decide as find_verdict


@command()
@click.argument("pr", type=int)
def decide(pr: int) -> None:
    """Decide a candidate that passed the policy check and has its reviews; merge or close it.

    A decide that was interrupted is finished by the next one.
    """
    session = Session()
    session.as_lead()
    candidate, thesis = session.candidate(pr)
    left = finish(session, candidate, thesis)
    if candidate.decision and left:
        done = "Would finish" if session.dry_run else "Finished"
        outcome, confirmations = candidate.decision.outcome, candidate.decision.confirmations
        said = f"{done} the decision `{outcome}` on PR #{pr}: {', '.join(left)}."
    else:
        check_clean(session, "decide candidates")
        heads = session.checkout.bases(session.tip) if session.tip else None
        found = find_verdict(session.state, session.program, session.ledger, pr, heads)
        if not isinstance(found, Verdict):
            if found in ("maintainer_pending", "maintainer_rejected"):
                assign_maintainer(session, pr, candidate.pull.assignees)
            message, fix = MESSAGES[found]
            raise GuardError(f"PR #{pr} cannot be decided: {message}", fix=fix.replace("<pr>", str(pr)))
        if not session.dry_run:
            carry_out(session, candidate, thesis, found)
        outcome, confirmations = found.outcome, found.confirmations
        done = "would be decided" if session.dry_run else "decided"
        said = f"PR #{pr} on thesis #{thesis.number} {done} as `{outcome}`.\nNEXT: polyresearch sync"
    data = {"pr": pr, "thesis": thesis.number, "outcome": outcome, "confirmations": confirmations}
    tell(session, data, said)
