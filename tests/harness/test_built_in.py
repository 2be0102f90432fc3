"""The built-in harness plugins, registered as the host does it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module

import pluggy
import pytest

from herdr import hookspecs
from herdr.api import Harness
from herdr.harness.registry import Harnesses

BUILT_IN = ("aider", "claude", "codex", "command")


@pytest.fixture(scope="module")
def known() -> Harnesses:
    manager, harnesses = pluggy.PluginManager("herdr"), Harnesses()
    manager.add_hookspecs(hookspecs)
    for name in BUILT_IN:
        manager.register(import_module(f"herdr_{name}"), name)
    for plugin in manager.get_plugins():
        register = harnesses.registrar(manager.get_name(plugin) or "")
        manager.subset_hook_caller(
            "herdr_register_harnesses", [p for p in manager.get_plugins() if p is not plugin]
        )(register=register)
    return harnesses


def test_each_plugin_registers_its_harness(known: Harnesses) -> None:
    assert known.names() == ["claude", "codex", "aider", "command"]
    assert known.origin == {name: name for name in BUILT_IN}
    assert all(isinstance(known.get(name), Harness) for name in BUILT_IN)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_is_a_regular_expression(known: Harnesses, name: str) -> None:
    rules = known.get(name).screen
    for field in rules.__struct_fields__:
        value = getattr(rules, field)
        patterns = [value] if isinstance(value, str) else []
        if isinstance(value, Mapping):
            patterns = [pattern for pattern, _ in value.values()]
        for pattern in patterns:
            re.compile(pattern, re.MULTILINE)


def test_nothing_is_in_the_rotation_on_a_machine_without_agents(known: Harnesses) -> None:
    assert known.available({"PATH": ""}) == []
