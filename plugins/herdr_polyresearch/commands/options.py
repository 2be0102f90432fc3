"""The options of the program itself, which may stand before or after a command's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from herdr.api import SETTINGS, TextCommand
from herdr_polyresearch.forge.choose import KINDS

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--repo",), {"metavar": "OWNER/NAME", "help": "The repository; the one of the remote origin when absent."}),
    (("--forge",), {"type": click.Choice(KINDS), "help": "Where it is; found out from the remote when absent."}),
    (("--as", "login"), {"metavar": "LOGIN", "help": "Who you are; POLYRESEARCH_LOGIN when absent."}),
    (("--json", "as_json"), {"is_flag": True, "help": "Print JSON."}),
    (("--dry-run", "dry_run"), {"is_flag": True, "help": "Say what would be done, and do nothing."}),
)


def program_options() -> list[click.Parameter]:
    """The options as the program has them."""
    return [click.Option(list(names), **attributes) for names, attributes in _OPTIONS]


def command(name: str | None = None) -> Callable[[F], click.Command]:
    """Make a function a command that takes the options of the program, too."""

    def wrap(function: F) -> click.Command:
        made = click.command(name, cls=TextCommand, context_settings=SETTINGS)(function)
        made.params += [
            click.Option(list(names), **attributes, expose_value=False, callback=_hand_up)
            for names, attributes in _OPTIONS
        ]
        return made

    return wrap


def _hand_up(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    if value not in (None, False) and parameter.name:
        context.find_root().params[parameter.name] = value
