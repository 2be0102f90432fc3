"""Find harnesses by name: those that plugins register, with what `[harness.<name>]` of a project adds."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping

from herdr.config import HarnessKeys
from herdr.contract.harness import Harness, HarnessStatus
from herdr.errors import HerdrError, UsageError, describe
from herdr.harness.checking import faults, label
from herdr.harness.configured import configured

#: The default rotation starts with these; others follow in the order of their names.
FIRST = ("claude", "codex", "aider")
#: Has no program of its own, so it is never chosen without being named.
COMMAND = "command"


class Harnesses:
    """The harnesses that are known, by name.

    `origin` says which plugin each came from. `refused` has those that plugins registered and that cannot be
    used, with the reason.
    """

    def __init__(self) -> None:
        self._known: dict[str, Harness] = {}
        self.origin: dict[str, str] = {}
        self.refused: dict[str, HerdrError] = {}

    def registrar(self, plugin: str) -> Callable[[Harness], None]:
        """The `register` that a plugin's `herdr_register_harnesses` is called with.

        It raises HerdrError for a harness that cannot be used, with all that is wrong with it; and for a second
        harness of one name: neither silently wins.
        """

        def register(harness: Harness) -> None:
            name, wrong = label(harness), faults(harness)
            if wrong:
                problem = f"harness {name} of plugin {plugin} cannot be used: {'; '.join(wrong)}"
                error = HerdrError(problem, fix=_mend(plugin))
                if name not in self._known:
                    self.refused[name], self.origin[name] = error, plugin
                raise error
            if name in self._known:
                both = f"the plugins {self.origin[name]} and {plugin}"
                raise HerdrError(
                    f"harness {name} is registered twice, by {both}",
                    fix=f"block one of them: HERDR_BLOCK_PLUGINS={plugin}, or [plugins] block in piloop.toml",
                )
            self._known[name] = harness
            self.origin[name] = plugin
            self.refused.pop(name, None)

        return register

    def configured(self, tables: Mapping[str, HarnessKeys]) -> Harnesses:
        """A copy with what a project's `[harness.<name>]` tables define and override."""
        own = Harnesses()
        own._known, own.origin, own.refused = dict(self._known), dict(self.origin), dict(self.refused)
        for name, keys in tables.items():
            # Single rules for a harness that is refused would make a harness without a command.
            if name not in self.refused:
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
            HerdrError: it was refused when its plugin registered it.
        """
        if name in self.refused:
            raise self.refused[name]
        if name in self._known:
            return self._known[name]
        near = difflib.get_close_matches(name, self._known, n=1)
        fix = f"did you mean {near[0]}? " if near else f"define [harness.{name}] in piloop.toml, "
        raise UsageError(
            f"no harness is called {name}; there are {', '.join(self.names()) or 'none'}",
            fix=fix + ("see `herdr harness list`" if near else "or name one of these"),
        )

    def check(self, name: str, environ: Mapping[str, str]) -> HarnessStatus:
        """Whether the program of a harness is on this machine and can be used.

        Args:
            name: the harness.
            environ: the environment of agents.

        Raises:
            UsageError: there is none of this name.
            HerdrError: it was refused, or its plugin fails to say.
        """
        harness = self.get(name)
        try:
            status = harness.check(environ)
        except Exception as error:
            raise self._failed(name, describe(error)) from error
        if not isinstance(status, HarnessStatus):
            raise self._failed(name, f"returned {type(status).__name__}, not HarnessStatus")
        return status

    def available(self, environ: Mapping[str, str]) -> list[str]:
        """The names of those whose program is on this machine: the rotation of a project that names none."""
        return [name for name in self.names() if name != COMMAND and self._found(name, environ)]

    def _found(self, name: str, environ: Mapping[str, str]) -> bool:
        try:
            return self.check(name, environ).found
        except HerdrError:
            return False

    def _failed(self, name: str, problem: str) -> HerdrError:
        plugin = self.origin[name]
        return HerdrError(f"harness {name} of plugin {plugin} failed in check: {problem}", fix=_mend(plugin))


def _mend(plugin: str) -> str:
    return f"upgrade the plugin, mend it as docs/plugins.md says, or block it: HERDR_BLOCK_PLUGINS={plugin}"
