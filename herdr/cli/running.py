"""The tables of commands, and how whatever goes wrong in one is said."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from herdr.cli.group import LazyGroup, TextCommand
from herdr.cli.main import INTERRUPTED
from herdr.errors import HerdrError

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
GROUPS = {
    "piloop": LazyGroup(PILOOP, "The campaign: ideas, runs, candidates and what was said about them."),
    "herdr": LazyGroup(HERDR, "The fleet: coding agents on one repo, each in its own tmux window."),
}


def run_command(program: str, arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status; whatever goes wrong is said on stderr."""
    try:
        code = GROUPS[program].main(list(arguments), prog_name=program, standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except HerdrError as error:
        return complain(error.message, error.fix, error.exit_code)
    except click.ClickException as error:
        return _usage(error)
    except click.Abort:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has enough; Python's own flush at the end must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        return _unexpected(error)


def complain(message: str, fix: str | None, code: int) -> int:
    """Say on stderr what is wrong and what to do, and return the exit status."""
    print(f"error: {message}", file=sys.stderr)
    if fix:
        print(f"fix: {fix}", file=sys.stderr)
    return code


def _usage(error: click.ClickException) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return error.exit_code
    fix = f"{context.command_path} --help" if context is not None else None
    if isinstance(error, click.NoSuchOption) and context is not None and isinstance(context.command, TextCommand):
        fix = f"a text that starts with a dash goes after --: {context.command_path} … -- {error.option_name}…"
    return complain(error.format_message(), fix, error.exit_code)


def _unexpected(error: Exception) -> int:
    import traceback

    text = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}"
    if os.environ.get("HERDR_DEBUG"):
        print(text, file=sys.stderr)
        return complain(what, None, 1)
    try:
        from herdr.home import Home

        log = Home.from_environ(os.environ).log
        with log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError:
        return complain(what, "this is a bug in herdr: HERDR_DEBUG=1 shows where", 1)
    return complain(what, f"this is a bug in herdr; the traceback is in {Path(log)}", 1)
