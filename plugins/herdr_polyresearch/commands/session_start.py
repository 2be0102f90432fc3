"""`polyresearch session`: what the protocol asks of an agent before it does anything else."""

from __future__ import annotations

import os
import shlex

import click

from herdr_polyresearch.commands.identity import is_lead_node, new_node_id
from herdr_polyresearch.commands.options import command
from herdr_polyresearch.commands.output import plain, tell
from herdr_polyresearch.commands.session import Session
from herdr_polyresearch.protocol.node import NODE_ENV

READ_ORDER = ("POLYRESEARCH.md", "PROGRAM.md", "PREPARE.md", "results.tsv")
ENVIRONMENT = ".polyresearch"
RECENT = 20


@command()
@click.option("--slot", metavar="NAME", help="One of several workers that share this login.")
@click.option("--export", is_flag=True, help="Print only the line for a shell to eval.")
def session(slot: str | None, export: bool) -> None:
    """Begin a session: check who you are, name a node for it, and say what to read first.

    With --as LOGIN, or POLYRESEARCH_LOGIN, it stops when the token belongs to somebody else.
    """
    here = Session()
    login = here.login
    node = os.environ.get(NODE_ENV, "").strip() if slot is None else ""
    node = node or new_node_id(login, slot)
    line = f"export {NODE_ENV}={shlex.quote(node)}"
    if export:
        click.echo(line)
        return
    _ = here.program
    main = here.checkout.main
    present = [name for name in READ_ORDER if (main / name).exists()]
    setup = sorted(p.name for p in (main / ENVIRONMENT).iterdir()) if (main / ENVIRONMENT).is_dir() else None
    default = here.program.default_branch or here.forge.repo().default_branch
    log = (here.checkout.git.ask("log", "--oneline", f"-{RECENT}", default) or "").splitlines()
    lead = is_lead_node(here.checkout.common, node)
    first = "the set-up in PREPARE.md" if setup is None else f"the set-up in {ENVIRONMENT}/ ({', '.join(setup)})"
    role = "lead" if lead else "contributor"
    said = [
        f"You are {login} on {here.forge.repo().full_name}, as the {role} node `{node}`.",
        f"  {line}",
        f"1. Read, in this order: {', '.join(present)}.",
        f"2. Look at the last commits on {default}:",
        *(f"     {row}" for row in log),
        f"3. Run {first}.",
        f"4. Follow the {role} loop of POLYRESEARCH.md. NEXT: polyresearch duties",
    ]
    data = {
        "repo": here.forge.repo().full_name,
        "github_login": login,
        "node": node,
        "role": role,
        "read": present,
        "environment": setup,
        "recent_commits": log,
    }
    tell(here, data, plain("\n".join(said)))
