"""`polyresearch session`: what the protocol asks of an agent before it does anything else."""

from __future__ import annotations

import os
import shlex

import click

from herdr_polyresearch.commands.identity import is_lead_node, new_node_id, set_lead_node
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import plain, tell
from herdr_polyresearch.commands.project import Project
from herdr_polyresearch.protocol.node import NODE_ENV

READ_ORDER = ("POLYRESEARCH.md", "PROGRAM.md", "PREPARE.md", "results.tsv")
ENVIRONMENT = ".polyresearch"
RECENT = 20


@command()
@click.option("--slot", metavar="NAME", help="One of several workers that share this login.")
@click.option(
    "--role",
    type=click.Choice(["contributor", "lead"]),
    help="What the session does; the node file's node has told when absent, and a slot contributes.",
)
@click.option("--export", is_flag=True, help="Print only the line for a shell to eval.")
def session(slot: str | None, role: str | None, export: bool) -> None:
    """Begin a session: check who you are, name a node for it, and say what to read first.

    With --as LOGIN, or POLYRESEARCH_LOGIN, it stops when the token belongs to somebody else.
    """
    project = Project()
    login = project.login
    node, role = _node(project, slot, role)
    line = f"export {NODE_ENV}={shlex.quote(node)}"
    if export:
        click.echo(line)
        return
    _ = project.program
    main = project.checkout.main
    present = [name for name in READ_ORDER if (main / name).exists()]
    setup = sorted(p.name for p in (main / ENVIRONMENT).iterdir()) if (main / ENVIRONMENT).is_dir() else None
    default = project.program.default_branch or project.forge.repo().default_branch
    log = (project.checkout.git.ask("log", "--oneline", f"-{RECENT}", default) or "").splitlines()
    first = "the set-up in PREPARE.md" if setup is None else f"the set-up in {ENVIRONMENT}/ ({', '.join(setup)})"
    said = [
        f"You are {login} on {project.forge.repo().full_name}, as the {role} node `{node}`.",
        f"  {line}",
        f"1. Read, in this order: {', '.join(present)}.",
        f"2. Look at the last commits on {default}:",
        *(f"     {row}" for row in log),
        f"3. Run {first}.",
        f"4. Follow the {role} loop of POLYRESEARCH.md. NEXT: polyresearch duties",
    ]
    data = {
        "repo": project.forge.repo().full_name,
        "github_login": login,
        "node": node,
        "role": role,
        "read": present,
        "environment": setup,
        "recent_commits": log,
    }
    tell(project, data, plain("\n".join(said)))


def _node(project: Project, slot: str | None, role: str | None) -> tuple[str, str]:
    """The id of this session and its role; the id of a lead's session is the lead's from then on.

    Raises:
        HerdrError: it would be the lead's, and we are not the lead.
    """
    common, given = project.checkout.common, os.environ.get(NODE_ENV, "").strip()
    if role is None:
        recorded = slot is None and project.node_id is not None and is_lead_node(common, project.node_id)
        role = "lead" if recorded else "contributor"
    usable = given and slot is None and (role == "lead" or not is_lead_node(common, given))
    node = given if usable else new_node_id(project.login, slot)
    if role == "lead":
        project.check_lead()
        if not project.dry_run:
            set_lead_node(common, node, lead=True)
    return node, role
