"""`herdr plugins`: the installed plugins, their hooks, and what is wrong with them."""

from __future__ import annotations

import os

import click
import msgspec

from herdr.cli.asking import home_for_people
from herdr.cli.output import json_option, print_json, print_table


@click.command()
@json_option
def plugins(as_json: bool) -> None:
    """List the installed plugins with their hooks, and those that fail."""
    from herdr.cli.checks.plugins import failing
    from herdr.cli.checks.project import registered
    from herdr.plugins import PluginHost

    home = home_for_people("plugins", acts=False)
    host = PluginHost(environ=os.environ)
    # What a plugin does wrong shows only when it is asked.
    registered(host)
    late = {one.plugin: f"failed {one.failures} times in the daemon: {one.error}" for one in failing(home)}
    rows = [msgspec.structs.replace(row, why=row.why or late.get(row.name, "")) for row in host.plugins_table()]
    if as_json:
        print_json(rows)
        return
    table = [[r.name, r.state, f"{r.distribution} {r.version}", r.why or ", ".join(r.hooks)] for r in rows]
    print_table(table, ["PLUGIN", "STATE", "FROM", "HOOKS, OR WHAT IS WRONG"])
