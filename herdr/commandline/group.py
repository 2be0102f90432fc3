"""A group of commands that imports a command only when it is called: start-up is most of a short command."""

from __future__ import annotations

import difflib
import importlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from herdr.errors import UsageError

DASHED_TEXT = re.compile(r"-[^=]*\s")
#: Put before such a text while options are told from texts; nobody can type it.
GUARD = "\0"
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """The commands of a table, and those that are found elsewhere, which no listing loads.

    Args:
        table: name -> (`module:command`, one sentence for the listing).
        text: what the group is for.
        elsewhere: finds a command that the table does not have, such as a plugin's; None when there is none.
        options: the options of the program itself, besides `--help` and `--version`.
        epilog: what stands below the listing.
    """

    def __init__(
        self,
        table: Mapping[str, tuple[str, str]],
        text: str,
        elsewhere: Callable[[str], click.Command | None] | None = None,
        *,
        options: Sequence[click.Parameter] = (),
        epilog: str | None = None,
    ) -> None:
        params = [*options, version_option()]
        super().__init__(help=text, context_settings=SETTINGS, params=params, epilog=epilog)
        self.table = table
        self._elsewhere = elsewhere

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name our own commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Import a command.

        Raises:
            UsageError: there is none of this name.
        """
        if cmd_name in self.table:
            module, _, attribute = self.table[cmd_name][0].partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        found = self._elsewhere(cmd_name) if self._elsewhere else None
        if found is not None:
            return found
        near = difflib.get_close_matches(cmd_name, self.table, n=1)
        fix = f"did you mean `{ctx.info_name} {near[0]}`?" if near else f"`{ctx.info_name} --help` lists them"
        raise UsageError(f"there is no command {cmd_name!r}", fix=fix)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


class TextCommand(click.Command):
    """A command that takes texts: one may start with a dash, as the first item of a list does."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; what has a blank in its name is no option."""
        guarded = [GUARD + arg if DASHED_TEXT.match(arg) else arg for arg in args]
        rest = super().parse_args(ctx, guarded)
        ctx.params = {name: _bare(value) for name, value in ctx.params.items()}
        return rest


def _bare(value: Any) -> Any:
    if isinstance(value, str):
        return value.removeprefix(GUARD)
    return tuple(map(_bare, value)) if isinstance(value, tuple) else value


def version_option() -> click.Option:
    """`--version`; the version itself is looked up only when asked for."""

    def show(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            from herdr import __version__

            click.echo(f"{ctx.info_name} {__version__}")
            ctx.exit()

    return click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show, help="Show the version."
    )
