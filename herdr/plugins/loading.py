"""Finds the installed plugins and loads each in isolation: one that is broken is named, and the others work."""

from __future__ import annotations

import difflib
import inspect
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import msgspec
import pluggy

from herdr import hookspecs
from herdr.errors import describe

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "herdr"
log = logging.getLogger("herdr.plugins")


class PluginRow(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `herdr plugins`; `why` says what is wrong, or who blocked it."""

    name: str
    distribution: str
    version: str
    hooks: tuple[str, ...] = ()
    state: Literal["ok", "blocked", "failed"] = "ok"
    why: str = ""


def entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group; ours first, so that pluggy asks others before the built-in plugins."""
    # It costs more to import than `herdr status` may spend.
    from importlib.metadata import entry_points as installed

    return sorted(installed(group=group), key=lambda point: (distribution(point)[0] != "herdr", point.name))


def distribution(point: EntryPoint) -> tuple[str, str]:
    """Return the name and version of the distribution that an entry point belongs to."""
    return (point.dist.name, point.dist.version) if point.dist else ("unknown", "")


def blocked_names(block: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the blocked plugins and who blocked each: the configuration, or HERDR_BLOCK_PLUGINS.

    Args:
        block: the list `block` of `[plugins]`.
        environ: where HERDR_BLOCK_PLUGINS may name more, with commas between them.
    """
    named = (name.strip() for name in environ.get("HERDR_BLOCK_PLUGINS", "").split(","))
    return {
        **dict.fromkeys(block, "[plugins] block in piloop.toml"),
        **dict.fromkeys(filter(None, named), "HERDR_BLOCK_PLUGINS"),
    }


def load_plugins(blocked: Mapping[str, str]) -> tuple[pluggy.PluginManager, list[PluginRow]]:
    """Load all plugins but the blocked ones; what fails is a row with the reason, never an exception."""
    manager = pluggy.PluginManager("herdr")
    manager.add_hookspecs(hookspecs)
    rows: list[PluginRow] = []
    for point in entry_points(GROUP):
        name = point.name
        owner, version = distribution(point)
        row = PluginRow(name=name, distribution=owner, version=version)
        if name in blocked:
            rows.append(msgspec.structs.replace(row, state="blocked", why=f"by {blocked[name]}"))
            continue
        try:
            hooks = load(manager, point, {other.name: other.distribution for other in rows})
        except (Exception, SystemExit) as error:
            log.warning("plugin %s of %s cannot be loaded", name, owner, exc_info=error)
            rows.append(msgspec.structs.replace(row, state="failed", why=describe(error)))
        else:
            rows.append(msgspec.structs.replace(row, hooks=hooks))
    return manager, rows


def load(manager: pluggy.PluginManager, point: EntryPoint, taken: Mapping[str, str]) -> tuple[str, ...]:
    """Import one plugin, check it against the contract, register it, and return the hooks that it has.

    Args:
        manager: registers it.
        point: the plugin's entry point.
        taken: the distribution that each name so far belongs to.

    Raises:
        ValueError: it breaks the contract.
        Exception: whatever its import raises.
    """
    if point.name in taken:
        raise ValueError(f"its name is taken by a plugin of {taken[point.name]}; one of the two has to go")
    plugin = point.load()
    check(manager, plugin)
    manager.register(plugin, name=point.name)
    return tuple(sorted(caller.name for caller in manager.get_hookcallers(plugin) or ()))


def check(manager: pluggy.PluginManager, plugin: object) -> None:
    """Raise ValueError where a plugin would be called in vain, or could not be called on its own.

    Args:
        manager: knows how pluggy reads a function's marks.
        plugin: the module, or object, that the entry point names.
    """
    known = [name for name in vars(hookspecs) if name.startswith("herdr_")]
    for name in dir(plugin):
        options = manager.parse_hookimpl_opts(plugin, name)
        function = getattr(plugin, name, None)
        if options is None:
            if name in known and inspect.isroutine(function):
                raise ValueError(f"{name} is not marked with @hookimpl")
            continue
        hook = options.get("specname") or name
        if hook not in known:
            near = difflib.get_close_matches(hook, known, n=1)
            raise ValueError(f"there is no hook {hook}" + (f"; did you mean {near[0]}?" if near else ""))
        if options["wrapper"] or options["hookwrapper"]:
            raise ValueError(f"{name} is a wrapper; every implementation is called on its own")
        if inspect.iscoroutinefunction(function):
            raise ValueError(f"{name} is async; hooks are plain functions, called in a thread of their own")
