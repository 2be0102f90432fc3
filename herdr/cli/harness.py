"""`herdr harness`: the coding agents that can be run, and whether they are ready."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

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
    found = [(name, known.origin[name], known.get(name).check(os.environ)) for name in known.names()]
    if as_json:
        print_json([_as_data(name, origin, status) for name, origin, status in found])
        return
    rows = [
        [name, _state(status), status.version or "", origin, _where(status)] for name, origin, status in found
    ]
    print_table(rows, ["HARNESS", "STATE", "VERSION", "FROM", "WHERE, OR WHAT TO DO"])


@harness.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show how herdr runs and reads a harness."""
    known = _known()
    one = known.get(name)
    screen = {key: value for key, value in msgspec.to_builtins(one.screen).items() if value}
    send = msgspec.to_builtins(one.send)
    if as_json:
        facts = {
            "needs_model": one.needs_model,
            "ready_timeout": one.ready_timeout,
            "screen": screen,
            "send": send,
        }
        print_json(_as_data(name, known.origin[name], one.check(os.environ)) | facts)
        return
    print_facts(
        [
            (name, f"from {known.origin[name]}"),
            ("state", _state(one.check(os.environ))),
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
    found = [(name, known.get(name).check(os.environ)) for name in names or known.names()]
    if as_json:
        print_json([_as_data(name, known.origin[name], status) for name, status in found])
    else:
        for name, status in found:
            click.echo(f"{name}: {_state(status)} {status.version or ''}".rstrip())
            if status.problem:
                click.echo(f"  {status.problem}")
            if status.fix and _state(status) != "ok":
                click.echo(f"  fix: {status.fix}")
    if names and any(_state(status) != "ok" for _, status in found):
        raise click.exceptions.Exit(1)


def _known() -> Harnesses:
    from herdr.cli.checks.project import registered
    from herdr.config import FILE_NAME, read_config
    from herdr.errors import UsageError
    from herdr.home import working_folder
    from herdr.plugins import PluginHost
    from herdr.repo.checks import find_root

    home_for_people("harness")
    known = registered(PluginHost(environ=os.environ))
    try:
        root = find_root(working_folder())
    except UsageError:
        return known
    return known.configured(read_config(root, os.environ).harness) if (root / FILE_NAME).exists() else known


def _state(status: HarnessStatus) -> str:
    if not status.found:
        return "not found"
    if status.logged_in is False:
        return "not logged in"
    return "not ready" if status.problem else "ok"


def _where(status: HarnessStatus) -> str:
    return status.path or "" if _state(status) == "ok" else status.fix or status.problem


def _as_data(name: str, origin: str, status: HarnessStatus) -> dict[str, object]:
    return {"name": name, "from": origin, "state": _state(status), **msgspec.to_builtins(status)}
