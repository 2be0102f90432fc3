"""A group of commands that imports a command only when it is called: start-up is most of a short command."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping

import click

from herdr.errors import UsageError

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class LazyGroup(click.Group):
    """The commands of a table, and those of plugins, which no listing loads.

    Args:
        table: name -> (`module:command`, one sentence for the listing).
        text: what the group is for.
    """

    def __init__(self, table: Mapping[str, tuple[str, str]], text: str) -> None:
        super().__init__(help=text, context_settings=SETTINGS, params=[version_option()])
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name our own commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Import a command.

        Raises:
            UsageError: neither we nor a plugin have it.
        """
        if cmd_name in self.table:
            module, _, attribute = self.table[cmd_name][0].partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        from herdr.plugins.commands import find_command

        found: click.Command | None = find_command(cmd_name)
        if found is not None:
            return found
        near = difflib.get_close_matches(cmd_name, self.table, n=1)
        fix = f"did you mean `{ctx.info_name} {near[0]}`?" if near else f"`{ctx.info_name} --help` lists them"
        raise UsageError(f"there is no command {cmd_name!r}", fix=fix)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])


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
