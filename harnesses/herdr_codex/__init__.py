"""Codex as a harness."""

from __future__ import annotations

from collections.abc import Callable

from herdr.api import Harness, hookimpl
from herdr_codex.harness import CodexHarness

__all__ = ["herdr_register_harnesses"]


@hookimpl
def herdr_register_harnesses(register: Callable[[Harness], None]) -> None:
    """Register `codex`."""
    register(CodexHarness())
