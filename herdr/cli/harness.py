"""`herdr harness`: the coding agents that can be run, and whether they are ready."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from herdr.cli.asking import home_for_people
from herdr.cli.output import json_option, print_facts, print_json, print_table
from herdr.commandline.group import SETTINGS

if TYPE_CHECKING:
    from herdr.contract.harness import HarnessStatus
    from herdr.harness.registry import Harnesses


@click.group(context_settings=SETTINGS)
def harness() -> None:
    """List, show and check the coding agents that can be run."""


@harness.command("list")
@json_option
def list_harnesses(as_json: bool) -> None:
    """List the harnesses, and which of them are on this machine."""
    known = _known()
    found = [_look(known, name) for name in (*known.names(), *sorted(known.refused))]
    if as_json:
        print_json([one.as_data() for one in found])
        return
    rows = [[one.name, one.state, one.status.version or "", one.origin, one.where()] for one in found]
    print_table(rows, ["HARNESS", "STATE", "VERSION", "FROM", "WHERE, OR WHAT TO DO"])


@harness.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show how herdr runs and reads a harness."""
    known = _known()
    one = known.get(name)
    found = _look(known, name)
    screen = {key: value for key, value in msgspec.to_builtins(one.screen).items() if value}
    send = msgspec.to_builtins(one.send)
    if as_json:
        facts = {
            "needs_model": one.needs_model,
            "ready_timeout": one.ready_timeout,
            "screen": screen,
            "send": send,
        }
        print_json(found.as_data() | facts)
        return
    print_facts(
        [
            (name, f"from {found.origin}"),
            ("state", found.state),
            ("problem", found.status.problem),
            ("needs a model", "yes" if one.needs_model else "no"),
            ("ready within", f"{one.ready_timeout:g} s"),
            *((f"screen {key}", value) for key, value in screen.items()),
            *((f"send {key}", value) for key, value in send.items()),
        ]
    )


@harness.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
def check(names: tuple[str, ...], as_json: bool) -> None:
    """Check whether harnesses are found and logged in; exit 1 when one that is named is not."""
    known = _known()
    found = [_look(known, name) for name in names or (*known.names(), *sorted(known.refused))]
    if as_json:
        print_json([one.as_data() for one in found])
    else:
        for one in found:
            click.echo(f"{one.name}: {one.state} {one.status.version or ''}".rstrip())
            if one.status.problem:
                click.echo(f"  {one.status.problem}")
            if one.status.fix and one.state != "ok":
                click.echo(f"  fix: {one.status.fix}")
    if names and any(one.state != "ok" for one in found):
        raise click.exceptions.Exit(1)


def _known() -> Harnesses:
    from herdr.cli.checks.project import registered
    from herdr.config import FILE_NAME, read_config
    from herdr.errors import UsageError
    from herdr.home import working_folder
    from herdr.plugins import PluginHost
    from herdr.repo.checks import find_root

    home_for_people("harness", acts=False)
    host = PluginHost(environ=os.environ)
    known = registered(host)
    # A refused harness has a line of its own; what else went wrong would leave no trace in a list of harnesses.
    told = {known.origin[name] for name in known.refused}
    for row in host.plugins_table():
        if row.state == "failed" and row.name not in told:
            click.echo(f"plugin {row.name} failed: {row.why}", err=True)
    try:
        root = find_root(working_folder())
    except UsageError:
        return known
    return known.configured(read_config(root, os.environ).harness) if (root / FILE_NAME).exists() else known


class _Look(NamedTuple):
    """What is known of one harness on this machine."""

    name: str
    origin: str
    state: str
    status: HarnessStatus

    def where(self) -> str:
        """Where its program is, or what to do about it."""
        if self.state == "ok":
            return self.status.path or ""
        return self.status.problem if self.state == "failed" else self.status.fix or self.status.problem

    def as_data(self) -> dict[str, object]:
        """The same as JSON has it."""
        status: dict[str, object] = msgspec.to_builtins(self.status)
        return {"name": self.name, "from": self.origin, "state": self.state} | status


def _look(known: Harnesses, name: str) -> _Look:
    """Look at one harness.

    Raises:
        UsageError: there is none of this name.
    """
    from herdr.contract.harness import HarnessStatus
    from herdr.errors import HerdrError, UsageError

    try:
        status = known.check(name, os.environ)
    except UsageError:
        raise
    except HerdrError as error:
        status = HarnessStatus(found=False, problem=error.message, fix=error.fix or "")
        return _Look(name, known.origin[name], "failed", status)
    return _Look(name, known.origin[name], _state(status), status)


def _state(status: HarnessStatus) -> str:
    if not status.found:
        return "not found"
    if status.logged_in is False:
        return "not logged in"
    return "not ready" if status.problem else "ok"
