"""The program `polyresearch`: its commands, each imported only when it is called, and how failures are said."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence

import click

from herdr.api import HerdrError
from herdr_polyresearch.commands.options import SETTINGS, program_options
from herdr_polyresearch.commands.problems import EXIT_CODES

INTERRUPTED = 130
HERE = "herdr_polyresearch.commands"

COMMANDS = {
    "session": ("session_start:session", "Begin a session: who you are, what to read, a node id."),
    "init": ("init:init", "Set up this machine as a node, or a project with --bootstrap."),
    "duties": ("duties:duties", "List what has to be done first, and what can be done."),
    "pace": ("pace:pace", "Compare what this node did with what it may do."),
    "status": ("status:status", "Show the theses, the queue and the findings."),
    "claim": ("claim:claim", "Claim a thesis and make its worktree."),
    "batch-claim": ("claim:batch_claim", "Claim several theses."),
    "attempt": ("attempt:attempt", "Record an experiment."),
    "annotate": ("attempt:annotate", "Leave a note on a thesis."),
    "release": ("attempt:release", "Give a claim up."),
    "submit": ("submit:submit", "Open the candidate's pull request."),
    "review-claim": ("review:review_claim", "Say that you evaluate a candidate."),
    "review": ("review:review", "Record what you measured of a candidate."),
    "audit": ("status:audit", "List the comments that do not count."),
    "guidance": ("guidance:guidance", "Read the maintainer's reasons, notes and near misses."),
    "sync": ("sync:sync", "Bring results.tsv up to date (lead)."),
    "generate": ("generate:generate", "Open a thesis (lead)."),
    "policy-check": ("policy_check:policy_check", "Check what a candidate changes (lead)."),
    "decide": ("decide:decide", "Decide a candidate, and merge or close it (lead)."),
    "admin": ("admin:admin", "Repair claims, findings and theses (lead)."),
    "prune": ("prune:prune", "Tidy up after worktrees that are gone."),
    "explain": ("explain:explain", "Read saved threads and say what they come to."),
    "forge": ("forge:forge", "Look at a local forge, and speak there."),
}


class Program(click.Group):
    """The commands of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; None when there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"{HERE}.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _show_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        from herdr_polyresearch.commands.version import own_version

        click.echo(f"polyresearch {own_version()}")
        context.exit()


polyresearch = Program(
    name="polyresearch",
    help="Research by many nodes on one repository: theses, attempts, reviews and decisions.",
    epilog=EXIT_CODES,
    context_settings=SETTINGS,
    params=[
        *program_options(),
        click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_show_version),
    ],
)


def main() -> None:
    """Run the program and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; whatever goes wrong is said on stderr."""
    try:
        code = polyresearch.main(list(arguments), prog_name="polyresearch", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except HerdrError as error:
        return _complain(error.message, error.fix, error.exit_code)
    except click.ClickException as error:
        return _usage(error)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has enough; Python's own flush at the end must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("HERDR_DEBUG"):
            traceback.print_exc()
        fix = "this is a bug in polyresearch: HERDR_DEBUG=1 shows where"
        return _complain(f"{type(error).__name__}: {error}", fix, 1)


def _complain(message: str, fix: str | None, code: int) -> int:
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
    return _complain(error.format_message(), fix, error.exit_code)
