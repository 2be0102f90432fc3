"""`status`: how the campaign stands."""

from __future__ import annotations

import os

import click
import msgspec

from herdr.cli.asking import asking
from herdr.cli.output import json_option, print_json, print_table
from herdr.cli.shared import print_candidates
from herdr.home import Home
from herdr.ops.project import ShowStatus
from herdr.ops.sources import Source
from herdr.ops.status_snapshot import Head, LiveAgent, Queued, StatusSnapshot
from herdr.printing.things import pinned_to, waits_for
from herdr.printing.values import ago, counts, number, percent, several, size_of


class DaemonFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the daemon runs, its process, and where it lives.

    `stalled` is for how many seconds one that runs has shown no sign of life; null while it works.
    """

    running: bool
    pid: int | None
    stalled: float | None = None
    home: str
    log: str


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """All that `status --json` prints."""

    daemon: DaemonFacts
    projects: list[StatusSnapshot]


@click.command()
@click.argument("project", required=False)
@json_option
def status(project: str | None, as_json: bool) -> None:
    """Show how the campaign of PROJECT stands: the one around, or all of them."""
    with asking() as client:
        projects = client.ask(ShowStatus(project=project))
        daemon = _daemon(answered=client.agent)
    if as_json:
        print_json(Told(daemon=daemon, projects=projects))
        return
    running = f"runs (pid {daemon.pid})" if daemon.running else "is not running: herdr up"
    click.echo(f"daemon {running}")
    if daemon.stalled is not None:
        click.echo(
            f"  it has not worked any more for {daemon.stalled / 60:.0f} minutes, and starts nothing:"
            f" herdr down && herdr up -d    (its log: {daemon.log})"
        )
    for one in projects:
        _print_project(one)


def _daemon(*, answered: bool) -> DaemonFacts:
    """Whether the daemon runs; one that has answered an agent's request does."""
    from herdr.daemon.lock import daemon_pid, stalled

    home = Home.from_environ(os.environ)
    pid = daemon_pid(home)
    return DaemonFacts(
        running=answered or pid is not None,
        pid=pid,
        stalled=stalled(home),
        home=str(home.root),
        log=str(home.log),
    )


def _print_project(one: StatusSnapshot) -> None:
    reason = f" ({one.state_reason})" if one.state_reason else ""
    click.echo(f"\n{one.name}  {one.state}{reason}  {one.path}")
    if one.config_error:
        click.echo(f"  piloop.toml is wrong, the last good one is in force:\n    {_indented(one.config_error)}")
    if one.held_since:
        click.echo(f"  nothing is launched for {ago(one.held_since)}: too many starts failed; piloop resume")
    _print_head(one.head)
    if one.spent is not None or one.spend_error:
        wrong = f"  (the latest look failed: {one.spend_error})" if one.spend_error else ""
        click.echo(f"  spent  ${one.spent or 0:.2f}{wrong}")
    where = ", in the background" if one.runtime == "subprocess" else ""
    click.echo(f"  agents  {len(one.agents)} of {one.slots} slots{where}")
    for live in one.agents:
        _print_agent(live)
    for name, found in (("ideas", one.ideas), ("runs", one.runs), ("candidates", one.candidates)):
        if found:
            click.echo(f"  {name}  {counts(found)}")
    if one.sources:
        click.echo(f"  sources  {', '.join(_source(source) for source in one.sources)}")
    if one.inbox:
        click.echo(f"  inbox  {several(one.inbox, 'comment')} to acknowledge: piloop inbox")
    if one.scoring:
        click.echo(f"  scoring  {one.scoring} to do")
    _print_work(one)
    more = "" if one.disk_complete else "more than "
    if one.disk:
        click.echo(f"  worktrees  {more}{size_of(one.disk)}")


def _print_work(one: StatusSnapshot) -> None:
    """What waits, what was judged lately, and what went wrong."""
    if one.queue:
        click.echo(f"  queue  {one.queue_length}")
        rows = [[q.ref, f"P{q.priority}", _waits(q)] for q in one.queue]
        print_table(rows, ["NEXT", "", "TITLE"], indent="    ")
    if one.recent:
        click.echo("  recent")
        print_candidates(one.recent, one.head.metric if one.head else "value", indent="    ")
    for failed in one.failed_starts:
        said = f": {failed.detail}" if failed.detail else ""
        click.echo(f"  {failed.count} failed starts of {failed.harness}, {failed.cause}{said}")
        click.echo(f"    herdr logs {failed.agent} shows the screen; herdr doctor helps")
    for plugin in one.plugin_failures:
        click.echo(f"  plugin {plugin.plugin} failed {plugin.failures} times: {plugin.error}")


def _print_head(head: Head | None) -> None:
    if head is None:
        return
    text = f"  head  {head.ref} {head.metric} {number(head.value)}"
    if head.gain:
        better = "better" if head.gain > 0 else "worse"
        share = percent(abs(head.share)).lstrip("+") if head.share is not None else number(abs(head.gain))
        text += f", {share} {better} than the baseline's {number(head.baseline_value)}"
    click.echo(text)


def _print_agent(live: LiveAgent) -> None:
    agent = live.agent
    cause = f" ({agent.cause})" if agent.cause else ""
    state = f"{agent.state}{cause} for {ago(live.since)}"
    work = " ".join(filter(None, (agent.run or agent.sweep, live.idea, live.title)))
    click.echo(f"    {agent.ref}  {state}  {agent.harness}  {work}")
    if agent.last_line:
        click.echo(f"      {agent.last_line}")
    if live.waiting:
        why = f" ({live.waiting_for})" if live.waiting_for else ""
        click.echo(f"      a message waits{why}: {live.waiting.splitlines()[0][:100]}")


def _source(source: Source) -> str:
    return f"{source.source} {source.kept} kept of {several(source.ideas, 'idea')}"


def _waits(queued: Queued) -> str:
    blockers = f"  (after {waits_for(queued)})" if queued.blocked_by else ""
    return f"{queued.title}{pinned_to(queued)}{blockers}"


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")
