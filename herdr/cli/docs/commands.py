"""Renders docs/commands.md: the help of every command, as it is."""

from __future__ import annotations

import click

from herdr.cli.running import GROUPS

INTRODUCTION = """\
# Commands

This page is made from `--help`: `make docs` writes it.

References such as `idea#12`, `run#7`, `candidate#30` and `worker#3` are printed and taken everywhere; where only
one kind fits, the number alone does. PROJECT is a project's name or a path inside its repo, and may be left out
there. Every command that reads takes `--json`. The exit status is 0 when it worked, 1 when it did not, and 2 when
the command was given something that does not exist or does not fit; what went wrong is said on standard error, in
two lines: `error:` and `fix:`. After Ctrl-C it is 130, and 141 when whoever reads the output went away, as `head`
does: what a shell shows of any program that such a signal ended.
"""


def render() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for program, group in GROUPS.items():
        parts.append(f"## {program}\n\n{group.help}\n")
        context = click.Context(group, info_name=program, **group.context_settings)
        for name in group.list_commands(context):
            parts += _help_of(group.get_command(context, name), name, context)
    return "\n".join(parts)


def _help_of(command: click.Command, name: str, parent: click.Context) -> list[str]:
    settings = {"terminal_width": 100, "max_content_width": 100, **command.context_settings}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    pages = [f"### {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            pages += _help_of(found, inner, context)
    return pages
