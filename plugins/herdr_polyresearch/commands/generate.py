"""`polyresearch generate`: a thesis more, while the queue has room."""

from __future__ import annotations

import sys

import click

from herdr.api import HerdrError
from herdr_polyresearch.commands.duties import refuse_while_blocked
from herdr_polyresearch.commands.errors import GuardError
from herdr_polyresearch.commands.lead import assign_maintainer, check_clean
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import line, tell
from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.forge.base import Issue
from herdr_polyresearch.protocol.blocks import ApprovalBlock
from herdr_polyresearch.protocol.clean import clean_text, clean_value
from herdr_polyresearch.protocol.queue import duplicate, queue_depth, room
from herdr_polyresearch.protocol.threads import THESIS_LABEL


@command()
@click.option("--title", required=True)
@click.option("--body", required=True, help="The hypothesis, and why it may work; - reads standard input.")
def generate(title: str, body: str) -> None:
    """Open a thesis, if the queue is below min_queue_depth and nothing of the same words was proposed before.

    With auto_approve it is approved at once; otherwise it is assigned to the maintainer and waits for /approve.
    """
    title, body = clean_value(title), clean_text(sys.stdin.read() if body == "-" else body)
    if not title or not body:
        raise click.UsageError("a thesis needs a title and a body")
    project = Project()
    project.as_lead()
    check_clean(project, "generate theses")
    refuse_while_blocked(project, "lead", "generate theses")
    depth = queue_depth(project.state, project.program)
    halfway = _halfway(project, title)
    if halfway is None:
        _check_queue(project, title, depth)
    issue = halfway
    if not project.dry_run:
        issue = halfway or project.forge.create_issue(title, body, labels=[THESIS_LABEL])
        _pass_on(project, issue)
    below = depth + 1 < project.program.min_queue_depth
    awaiting = not project.program.auto_approve
    said = f"Generated thesis #{issue.number}." if issue else f"Would generate the thesis `{line(title)}`."
    said += " Awaiting maintainer /approve." if awaiting else ""
    said += " Queue depth is below min_queue_depth." if below else ""
    data = {
        "queue_depth": depth,
        "issue_number": issue.number if issue else None,
        "issue_url": (issue.url or None) if issue else None,
        "warned_below_min_queue_depth": below,
        "awaiting_maintainer_approval": awaiting,
    }
    tell(project, data, said)


def _halfway(project: Project, title: str) -> Issue | None:
    """Return a thesis of this title that an earlier `generate` opened and could not approve any more."""
    return next(
        (
            thesis.issue
            for thesis in project.state.theses
            if thesis.issue.title == title
            and thesis.issue.author == project.login
            and project.program.auto_approve
            and thesis.awaiting_maintainer
            and not project.snapshot.comments.get(thesis.number)
        ),
        None,
    )


def _check_queue(project: Project, title: str, depth: int) -> None:
    """See that there is room, and that this was not proposed before."""
    program = project.program
    known = duplicate(title, project.state.theses)
    if known is not None:
        raise GuardError(
            f"#{known.number} ({known.state}) has the same words in its title: {line(known.title)}",
            fix="propose something else, or say in the title what is materially different",
        )
    if room(project.state, program) == 0:
        highest, lowest = program.max_queue_depth, program.min_queue_depth
        key, limit = ("min_queue_depth", lowest)
        if highest is not None and highest < lowest:
            key, limit = "max_queue_depth", highest
        raise GuardError(
            f"the queue holds {depth} theses already ({key} = {limit})",
            fix=f"wait until theses are claimed, or change {key} in PROGRAM.md",
        )


def _pass_on(project: Project, issue: Issue) -> None:
    """Approve a thesis, or hand it to the maintainer."""
    if not project.program.auto_approve:
        assign_maintainer(project, issue.number, issue.assignees)
        return
    try:
        project.post(issue.number, ApprovalBlock(thesis=issue.number))
    except HerdrError as error:
        raise HerdrError(
            f"thesis #{issue.number} was opened and could not be approved: {error.message}",
            fix="run it again with the same title, which goes on with that thesis",
        ) from error
