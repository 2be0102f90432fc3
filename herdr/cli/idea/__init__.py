"""`piloop idea`: ideas and seeds, from a hunch to the end."""

from __future__ import annotations

import click

from herdr.cli.idea import editing, filing, moving, reading
from herdr.commandline.group import SETTINGS

GROUPS = (filing.COMMANDS, moving.COMMANDS, editing.COMMANDS, reading.COMMANDS)


@click.group(context_settings=SETTINGS)
def idea() -> None:
    """File ideas and seeds, say what becomes of them, and read them.

    An idea is one thing to test; a seed is a hunch that research develops into an idea.
    """


for command in (command for commands in GROUPS for command in commands):
    idea.add_command(command)
