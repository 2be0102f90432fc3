"""Runs one command line of one program; whatever goes wrong is said on stderr, in two lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from herdr.commandline.group import TextCommand
from herdr.errors import INTERRUPTED, HerdrError

#: What a shell shows of a program that SIGPIPE ended because nobody reads its output, as it ends `cat` and `git`:
#: 128 and the number of the signal.
READER_GONE = 141


def run_program(group: click.Group, program: str, arguments: Sequence[str], *, product: str = "herdr") -> int:
    """Run a command line and return its exit status; whatever goes wrong is said on stderr.

    Args:
        group: the commands of the program.
        program: its name, as people type it.
        arguments: what follows the name.
        product: whose bug an unexpected error is.

    Returns:
        What the command exits with, else: an error's own status, 2 for wrong usage, 130 after Ctrl-C, 141 when
        whoever reads the output went away, 1 for a bug.
    """
    try:
        if _completed(group, program):
            return 0
        code = _invoke(group, program, arguments)
        sys.stdout.flush()
        return code
    except HerdrError as error:
        return complain(error.message, error.fix, error.exit_code)
    except click.ClickException as error:
        return _usage(error)
    except click.Abort:
        return INTERRUPTED
    except (KeyboardInterrupt, EOFError):
        # Ends the line on which the terminal shows ^C.
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python's own flush at the end must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except Exception as error:
        return _unexpected(error, product)


def _invoke(group: click.Group, program: str, arguments: Sequence[str]) -> int:
    """Run a command, as `click.Group.main` does, which however makes exit status 1 of a broken pipe."""
    try:
        with group.make_context(program, list(arguments)) as context:
            code = group.invoke(context)
            return code if isinstance(code, int) else 0
    except click.exceptions.Exit as exited:
        return exited.exit_code


def _completed(group: click.Group, program: str) -> bool:
    """Answer the shell when it asks how a word goes on, and say whether it did."""
    variable = f"_{program.upper()}_COMPLETE"
    asked = os.environ.get(variable)
    if not asked:
        return False
    from click.shell_completion import shell_complete

    shell_complete(group, {}, program, variable, asked)
    return True


def complain(message: str, fix: str | None, code: int) -> int:
    """Say on stderr what is wrong and what to do.

    Args:
        message: what is wrong.
        fix: what to do about it, when that is known.
        code: the exit status, which is returned.
    """
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


def _unexpected(error: Exception, product: str) -> int:
    import traceback

    text = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}"
    if os.environ.get("HERDR_DEBUG"):
        print(text, file=sys.stderr)
        return complain(what, None, 1)
    log = _log(text)
    where = f"; the traceback is in {log}" if log else ": HERDR_DEBUG=1 shows where"
    return complain(what, f"this is a bug in {product}{where}", 1)


def _log(text: str) -> str | None:
    """Write a traceback to the log of the home; None where that cannot be written."""
    from herdr.home import Home

    try:
        log = Home.from_environ(os.environ).log
        with log.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except (OSError, RuntimeError):  # a full or read-only disk, no such folder, or nobody knows the home
        return None
    return str(log)
