"""Find harnesses by name: those that plugins register, with what `[harness.<name>]` of a project adds."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping

from herdr.config import HarnessKeys
from herdr.contract.harness import Harness
from herdr.errors import HerdrError, UsageError
from herdr.harness.configured import configured

#: The default rotation starts with these; others follow in the order of their names.
FIRST = ("claude", "codex", "aider")
#: Has no program of its own, so it is never chosen without being named.
COMMAND = "command"


class Harnesses:
    """The harnesses that are known, by name. `origin` says which plugin each came from."""

    def __init__(self) -> None:
        self._known: dict[str, Harness] = {}
        self.origin: dict[str, str] = {}

    def registrar(self, plugin: str) -> Callable[[Harness], None]:
        """The `register` that a plugin's `herdr_register_harnesses` is called with.

        It raises HerdrError for a second harness of one name: neither silently wins.
        """

        def register(harness: Harness) -> None:
            if harness.name in self._known:
                both = f"the plugins {self.origin[harness.name]} and {plugin}"
                raise HerdrError(
                    f"harness {harness.name} is registered twice, by {both}",
                    fix=f"block one of them: HERDR_BLOCK_PLUGINS={plugin}, or [plugins] block in piloop.toml",
                )
            self._known[harness.name] = harness
            self.origin[harness.name] = plugin

        return register

    def configured(self, tables: Mapping[str, HarnessKeys]) -> Harnesses:
        """A copy with what a project's `[harness.<name>]` tables define and override."""
        own = Harnesses()
        own._known, own.origin = dict(self._known), dict(self.origin)
        for name, keys in tables.items():
            own._known[name] = configured(name, keys, self._known.get(name))
            own.origin.setdefault(name, "piloop.toml")
        return own

    def names(self) -> list[str]:
        """All names, those of the default rotation first."""
        first = [name for name in FIRST if name in self._known]
        return [*first, *sorted(self._known.keys() - set(first))]

    def known(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are a harness's."""
        return [name for name in names if name in self._known]

    def get(self, name: str) -> Harness:
        """The harness of this name.

        Raises:
            UsageError: there is none; it names those that there are.
        """
        if name in self._known:
            return self._known[name]
        near = difflib.get_close_matches(name, self._known, n=1)
        fix = f"did you mean {near[0]}? " if near else f"define [harness.{name}] in piloop.toml, "
        raise UsageError(
            f"no harness is called {name}; there are {', '.join(self.names()) or 'none'}",
            fix=fix + ("see `herdr harness list`" if near else "or name one of these"),
        )

    def available(self, environ: Mapping[str, str]) -> list[str]:
        """The names of those whose program is on this machine: the rotation of a project that names none."""
        return [name for name in self.names() if name != COMMAND and self._known[name].check(environ).found]
