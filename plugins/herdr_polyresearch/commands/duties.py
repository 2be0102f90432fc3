"""`polyresearch duties`, and the gate that they are before anything new is started."""

from __future__ import annotations

from typing import Literal

import click

from herdr_polyresearch.commands.errors import BlockedError
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import duty_json, duty_line, tell
from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.protocol.duties import duties as find_duties


@command()
def duties() -> None:
    """List what has to be done before anything new is started, and what can be done.

    The exit status is 3 when something has to be done first.
    """
    project = Project()
    found = find_duties(project.state, project.program, project.ledger, project.login, project.node_id)
    said = []
    if found.blocking:
        said += ["BLOCKING (resolve before continuing):", *(f"  {duty_line(duty)}" for duty in found.blocking)]
    if found.advisory:
        said += ["ADVISORY:", *(f"  {duty_line(duty)}" for duty in found.advisory)]
    if found.clean:
        said = ["No duties. All clear.", "NEXT: sleep 60 && polyresearch duties"]
    data = {
        "blocking": [duty_json(duty) for duty in found.blocking],
        "advisory": [duty_json(duty) for duty in found.advisory],
        "clean": found.clean,
    }
    tell(project, data, "\n".join(said))
    if found.blocking:
        click.get_current_context().exit(BlockedError.exit_code)


def refuse_while_blocked(
    project: Project, role: Literal["contributor", "lead"], what: str, only: frozenset[str] | None = None
) -> None:
    """Go on only when no duty of that role comes first.

    Args:
        project: ours.
        role: whose duties count.
        what: what was asked for, for the message.
        only: the categories that count; all when None.

    Raises:
        BlockedError: there are some.
    """
    found = find_duties(project.state, project.program, project.ledger, project.login, project.node_id)
    first = [duty for duty in found.blocking_for(role) if only is None or duty.category in only]
    if first:
        listed = "".join(f"\n  {duty_line(duty)}" for duty in first)
        raise BlockedError(f"you cannot {what} before these duties are done:{listed}", fix=first[0].command)
