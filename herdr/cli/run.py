"""`piloop run`: list, show, cancel and requeue runs."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from herdr.cli.asking import ask
from herdr.cli.output import json_option, print_facts, print_json, print_table, print_text
from herdr.cli.shared import print_comments
from herdr.commandline.group import SETTINGS
from herdr.contract.words import RunState
from herdr.errors import RefusedError
from herdr.ops.run import CancelRun, ListRuns, RequeueRun, RunAgent, RunCommit, RunShown, ShowRun
from herdr.ops.views import RunView
from herdr.printing.things import verdict_of
from herdr.printing.values import ago, number, visible

STATES = get_args(RunState)


reason_option = click.option("--reason", help="Why: a comment on the run, and in the event log.")


@click.group(context_settings=SETTINGS)
def run() -> None:
    """List, show, cancel and requeue runs."""


@run.command("list")
@click.argument("project", required=False)
@click.option("--idea", metavar="idea#N", help="Only the runs of this idea.")
@click.option("--state", multiple=True, type=click.Choice(STATES), help="Only these. Repeatable.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many at most.")
@json_option
def list_runs(
    project: str | None, idea: str | None, state: tuple[RunState, ...], limit: int, as_json: bool
) -> None:
    """List runs, the newest first."""
    runs = ask(ListRuns(project=project, idea=idea, state=state, limit=limit))
    if as_json:
        print_json(runs)
        return
    if not runs:
        click.echo("no runs yet")
        return
    rows = [[r.ref, r.state, ago(r.started_at or r.queued_at), r.harness, r.idea, _title(r)] for r in runs]
    print_table(rows, ["RUN", "STATE", "AGO", "HARNESS", "IDEA", "TITLE"])


@run.command()
@click.argument("run", metavar="run#N")
@click.option("--brief", is_flag=True, help="Print the brief that its latest agent got, and nothing else.")
@click.option("--screen", is_flag=True, help="Print the last screen of its latest agent that has ended.")
@json_option
def show(run: str, brief: bool, screen: bool, as_json: bool) -> None:
    """Show a run with its agents, commits, verdicts, comments, messages and events."""
    shown = ask(ShowRun(run=run))
    if screen:
        _print_screen(shown)
        return
    if brief:
        click.echo(shown.brief or "")
        return
    if as_json:
        print_json(shown)
        return
    one = shown.run
    print_facts(
        [
            (one.ref, f"{one.idea} {one.title}"),
            ("project", shown.project),
            ("state", one.state + (" (to be cancelled)" if _cancelling(one) else "")),
            ("end", _end(one)),
            ("harness", " ".join(filter(None, (one.harness, one.model)))),
            ("base", one.base),
            ("branch", one.branch),
            ("worktree", one.worktree),
            ("queued", one.queued_at),
            ("started", one.started_at),
            ("finished", one.finished_at),
        ]
    )
    _print_agents(shown.agents)
    _print_commits(shown.commits)
    print_comments(shown.comments)
    for message in shown.messages:
        why = f" ({message.detail})" if message.detail else ""
        print_text(f"{message.kind} to {message.agent}: {message.state}{why}", message.body)
    if shown.events:
        click.echo("\nEvents")
        rows = [[e.at, e.kind, e.target or ""] for e in shown.events]
        print_table(rows, ["AT", "WHAT", "OF"], indent="  ")


@run.command()
@click.argument("run", metavar="run#N")
@reason_option
@json_option
def cancel(run: str, reason: str | None, as_json: bool) -> None:
    """Cancel a queued or running run; what it has committed is still scored."""
    done = ask(CancelRun(run=run, reason=reason))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.ref} ({done.state}) will be cancelled")


@run.command()
@click.argument("run", metavar="run#N")
@reason_option
@json_option
def requeue(run: str, reason: str | None, as_json: bool) -> None:
    """Try the idea of a run again, as if the run had been no attempt."""
    done = ask(RequeueRun(run=run, reason=reason))
    if as_json:
        print_json(done)
    else:
        click.echo(f"{done.idea} {done.title}: {done.old} -> ready; {done.ref} no longer counts")


def _print_screen(shown: RunShown) -> None:
    screens = [entry.screen for entry in shown.agents if entry.screen]
    if not screens:
        raise RefusedError(
            f"no agent of {shown.run.ref} has left a screen",
            fix="herdr attach shows the screen of a live one",
        )
    click.echo(visible(Path(screens[-1]).read_text("utf-8", "replace")))


def _title(one: RunView) -> str:
    return f"{one.title}: {one.detail}" if one.detail else one.title


def _cancelling(one: RunView) -> bool:
    return one.cancel_requested and one.state in ("queued", "running")


def _end(one: RunView) -> str | None:
    if one.end is None:
        return None
    return f"{one.end}: {one.detail}" + ("" if one.counts else " (does not count as an attempt)")


def _print_agents(agents: list[RunAgent]) -> None:
    if agents:
        click.echo("\nAgents")
        rows = []
        for entry in agents:
            agent = entry.agent
            what = " ".join(filter(None, (agent.cause, agent.detail or agent.last_line)))
            tokens = number(agent.tokens)
            rows.append([agent.ref, agent.state, agent.harness, tokens, entry.screen or "", what])
        print_table(rows, ["AGENT", "STATE", "HARNESS", "TOKENS", "LAST SCREEN", "CAUSE"], indent="  ")


def _print_commits(commits: list[RunCommit]) -> None:
    if commits:
        click.echo("\nCommits")
        rows = [[c.commit[:10], c.candidate.ref, verdict_of(c.candidate), c.candidate.subject] for c in commits]
        print_table(rows, ["COMMIT", "CANDIDATE", "VERDICT", "SUBJECT"], indent="  ")
