"""`piloop agent`: list and cancel agents."""

from __future__ import annotations

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_json, print_table
from herdr.commandline.group import SETTINGS
from herdr.ops.agent import CancelAgent, ListAgents
from herdr.printing.values import ago, number


@click.group(context_settings=SETTINGS)
def agent() -> None:
    """List agents, and cancel one."""


@agent.command("list")
@click.argument("project", required=False)
@click.option("--ended", is_flag=True, help="Also those that have ended.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_agents(project: str | None, ended: bool, limit: int, as_json: bool) -> None:
    """List the live agents, the newest first."""
    agents = ask(ListAgents(project=project, ended=ended, limit=limit))
    if as_json:
        print_json(agents)
        return
    if not agents:
        click.echo("no agents" if ended else "no live agents")
        return
    rows = [
        [
            a.ref,
            a.state,
            ago(a.launched_at),
            a.harness,
            a.run or a.sweep or "",
            number(a.tokens),
            " ".join(filter(None, (a.cause, a.detail or a.last_line))),
        ]
        for a in agents
    ]
    print_table(rows, ["AGENT", "STATE", "AGO", "HARNESS", "WORK", "TOKENS", "LAST"])


@agent.command()
@click.argument("agent", metavar="worker#N")
@click.option("--reason", help="Why: a comment on its run, and in the event log.")
@json_option
def cancel(agent: str, reason: str | None, as_json: bool) -> None:
    """End an agent, and its run or sweep with it; what it has committed is still scored."""
    done = ask(CancelAgent(agent=agent, reason=reason))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.ref} ({done.state}) will be ended, and {done.work} with it")
