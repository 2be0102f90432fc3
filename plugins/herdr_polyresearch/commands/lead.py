"""What the lead's commands have in common."""

from __future__ import annotations

from herdr.api import HerdrError
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.output import finding_line
from herdr_polyresearch.commands.project import Project, warn
from herdr_polyresearch.commands.publish import shared_base
from herdr_polyresearch.forge.base import ConflictError, StaleHeadError
from herdr_polyresearch.protocol.broken import broken_lines
from herdr_polyresearch.protocol.decide import Action, Verdict, decision_block, unfinished, verdict
from herdr_polyresearch.protocol.findings import blocking
from herdr_polyresearch.protocol.ledger import FILE, Ledger, missing_rows
from herdr_polyresearch.protocol.model import Candidate, Thesis
from herdr_polyresearch.protocol.words import Outcome


def check_ledger(project: Project, ledger: Ledger) -> None:
    """See that results.tsv can be trusted.

    Args:
        project: whose results.tsv it is.
        ledger: what was read of it.

    Raises:
        GuardError: it holds lines that are no rows.
    """
    broken = broken_lines(ledger)
    if broken:
        raise GuardError(
            f"{FILE} on {project.default_branch} holds {len(broken)} lines that are no rows: {broken[0]!r}",
            fix="polyresearch admin reconcile-ledger, which writes anew what the comments record; "
            f"correct any other line of {FILE} by hand, commit and push it",
        )


def check_clean(project: Project, what: str) -> None:
    """See that the audit is clean and results.tsv current: the protocol has the lead do that before all else.

    Args:
        project: the project.
        what: what the lead wants to do, for the message.

    Raises:
        GuardError: they are not, or the default branch here is not what origin has.
    """
    _ = project.tip  # which fetches it
    shared_base(project.checkout, project.default_branch)
    check_ledger(project, project.ledger)
    found = blocking(project.state)
    if found:
        listed = "".join(f"\n  {finding_line(one)}" for one in found)
        raise GuardError(
            f"you cannot {what} while the audit has findings:{listed}",
            fix=f"polyresearch admin acknowledge-invalid {found[0].comment_id} --note …",
        )
    missing = missing_rows(project.state, project.ledger)
    if missing:
        raise GuardError(f"you cannot {what} while {FILE} lacks {len(missing)} rows", fix="polyresearch sync")


def carry_out(project: Project, candidate: Candidate, thesis: Thesis, found: Verdict) -> None:
    """Do what a verdict entails, in its order; whatever is done already when it stops is not done twice.

    Args:
        project: the project.
        candidate: what was decided.
        thesis: its thesis.
        found: the verdict.

    Raises:
        GuardError: the merge is refused; nothing was posted then.
    """
    for action in found.actions:
        if action == "post_decision":
            project.post(*decision_block(candidate, thesis, found))
        else:
            _act(project, candidate, thesis, action, found.outcome)


def finish(project: Project, candidate: Candidate, thesis: Thesis) -> tuple[Action, ...]:
    """Do what a decision that is posted still lacks; gives what that was.

    Args:
        project: the project.
        candidate: what was decided.
        thesis: its thesis.
    """
    actions = unfinished(candidate, thesis)
    if candidate.decision and not project.dry_run:
        for action in actions:
            _act(project, candidate, thesis, action, candidate.decision.outcome)
    return actions


def reject(project: Project, candidate: Candidate, thesis: Thesis) -> None:
    """Decide a candidate that failed the policy check.

    Args:
        project: the project.
        candidate: what failed.
        thesis: its thesis.
    """
    carry_out(project, candidate, thesis, verdict("policy_rejection", 0))


def assign_maintainer(project: Project, number: int, assignees: tuple[str, ...]) -> None:
    """Assign an issue or pull request to the maintainer, whose word it waits for.

    Args:
        project: it knows who the maintainer is.
        number: the issue or pull request.
        assignees: who is assigned already.
    """
    maintainer = project.program.maintainer_github_login
    if maintainer is None or maintainer in assignees or project.dry_run:
        return
    try:
        project.forge.assign(number, [maintainer])
    except HerdrError as error:
        # The maintainer's word is what counts; an assignment only helps to find what waits for it.
        warn(f"#{number} was not assigned to {maintainer}: {error.message}")


def _act(project: Project, candidate: Candidate, thesis: Thesis, action: Action, outcome: Outcome) -> None:
    pull = candidate.pull
    if action == "close_pr":
        project.forge.close_pr(pull.number)
    elif action == "close_issue":
        project.forge.close_issue(thesis.number, reason="completed" if outcome == "accepted" else "not_planned")
    elif action == "merge_pr":
        try:
            project.forge.merge_pr(pull.number, expected_sha=pull.head_sha)
        except StaleHeadError as error:
            raise GuardError(
                f"{error.message}; nothing was decided", fix=f"polyresearch policy-check {pull.number}"
            ) from error
        except ConflictError as error:
            raise GuardError(f"{error.message}; nothing was decided", fix=error.fix) from error
