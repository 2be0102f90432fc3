"""The tables of commands of `herdr` and `piloop`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from herdr.commandline.group import LazyGroup
from herdr.commandline.running import run_program

FLAG = "--as-person"
PILOOP = {
    "init": ("herdr.cli.init:init", "Register the repo here and measure its baseline."),
    "idea": ("herdr.cli.idea:idea", "File ideas and seeds, say what becomes of them, and read them."),
    "run": ("herdr.cli.run:run", "List, show, cancel and requeue runs."),
    "agent": ("herdr.cli.agent:agent", "List agents, and cancel one."),
    "candidate": ("herdr.cli.candidate:candidate", "List, compare, import, note and judge candidates."),
    "apply": ("herdr.cli.apply:apply", "Hand the head, or a candidate, over as a branch or a patch."),
    "comment": ("herdr.cli.comment:comment", "Say something about an idea, a run, a candidate …"),
    "inbox": ("herdr.cli.inbox:inbox", "Show what waits for somebody, or wait for it."),
    "search": ("herdr.cli.search:search", "Find ideas and comments by their words."),
    "history": ("herdr.cli.history:history", "Tell what was tried and found."),
    "prompt": ("herdr.cli.prompt:prompt", "Type a text into a running agent."),
    "status": ("herdr.cli.status:status", "Show how the campaign stands."),
    "watch": ("herdr.cli.watch:watch", "Watch the campaign live, and steer it."),
    "plot": ("herdr.cli.plot:plot", "Draw the metric over candidates, time or tokens."),
    "pause": ("herdr.cli.pause:pause", "Start nothing more for a project."),
    "resume": ("herdr.cli.pause:resume", "Go on with a paused project."),
    "sql": ("herdr.cli.sql:sql", "Run one SQL statement on the campaign's database."),
    "schema": ("herdr.cli.schema:schema", "Say what can be asked by SQL."),
    "events": ("herdr.cli.events:events", "Read the event log."),
}
HERDR = {
    "init": ("herdr.cli.init:init", "Register the repo here and measure its baseline."),
    "up": ("herdr.cli.up:up", "Start the fleet, or register the repo with the running one."),
    "down": ("herdr.cli.down:down", "Stop the daemon; its agents may go on."),
    "status": ("herdr.cli.status:status", "Show how the campaign stands."),
    "attach": ("herdr.cli.attach:attach", "Look at the agents, in tmux."),
    "logs": ("herdr.cli.logs:logs", "Read the daemon's log, or an agent's last screen."),
    "doctor": ("herdr.cli.doctor:doctor", "Check what herdr needs, and say how to mend it."),
    "harness": ("herdr.cli.harness:harness", "List, show and check harnesses."),
    "plugins": ("herdr.cli.plugins:plugins", "List the plugins and what is wrong with them."),
    "orchestrator": ("herdr.cli.orchestrator:orchestrator", "Make the orchestrator's token, or take it back."),
    "clean": ("herdr.cli.clean:clean", "Remove what ended runs left, if nothing is lost."),
    "demo": ("herdr.cli.demo:demo", "Run a whole small campaign, with scripted agents."),
}


def run_command(program: str, arguments: Sequence[str]) -> int:
    """Run a command line of `herdr` or `piloop`, and return its exit status.

    Args:
        program: which of the two.
        arguments: what follows its name.
    """
    if FLAG in arguments:
        # Where people type it: after the command.
        arguments = [FLAG, *(word for word in arguments if word != FLAG)]
    return run_program(GROUPS[program], program, arguments)


def _by_plugin(name: str) -> click.Command | None:
    """Find a command that a plugin adds; no listing loads the plugins for it."""
    from herdr.plugins.commands import find_command

    found: click.Command | None = find_command(name)
    return found


def _as_person() -> click.Option:
    return click.Option([FLAG], is_flag=True, help="You are the person, though you stand in a run's worktree.")


GROUPS = {
    "piloop": LazyGroup(
        PILOOP,
        "The campaign: ideas, runs, candidates and what was said about them.",
        _by_plugin,
        options=[_as_person()],
    ),
    "herdr": LazyGroup(
        HERDR,
        "The fleet: coding agents on one repo, each in its own tmux window.",
        _by_plugin,
        options=[_as_person()],
    ),
}
