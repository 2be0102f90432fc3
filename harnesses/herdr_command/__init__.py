"""The harness `command`: any program, as `[harness.command]` of piloop.toml says."""

from __future__ import annotations

from collections.abc import Callable

from herdr.api import CommandHarness, Harness, hookimpl

__all__ = ["herdr_register_harnesses"]


@hookimpl
def herdr_register_harnesses(register: Callable[[Harness], None]) -> None:
    """Register it without a command: a project has to give one, or name harnesses of its own in the same way."""
    register(CommandHarness(name="command"))
