"""Make harnesses from `[harness.<name>]`: new ones, or ones of a plugin with some keys of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from herdr.config import HarnessKeys
from herdr.contract.harness import (
    Cause,
    Harness,
    HarnessStatus,
    Launch,
    LaunchContext,
    ScreenRules,
    SendRules,
    Usage,
)
from herdr.harness.program import check_program
from herdr.harness.template import CommandHarness, fill

CAUSES = frozenset(get_args(Cause))


def configured(name: str, keys: HarnessKeys, base: Harness | None) -> Harness:
    """The harness that a table of piloop.toml describes: `base` with these keys, or a new one."""
    if base is None:
        return _command(CommandHarness(name=name), keys)
    if isinstance(base, CommandHarness):
        return _command(base, keys)
    return Override(base=base, keys=keys)


class Override(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin's harness, but for the keys that a person has set."""

    base: Harness
    keys: HarnessKeys

    @property
    def name(self) -> str:
        """The name it overrides."""
        return self.base.name

    @property
    def screen(self) -> ScreenRules:
        """The rules of the harness, with the person's in place of those they name."""
        return _screen(self.base.screen, self.keys)

    @property
    def send(self) -> SendRules:
        """How it takes text, as set."""
        return _send(self.base.send, self.keys)

    @property
    def ready_timeout(self) -> float:
        """Seconds until an agent that is not ready counts as a failed start."""
        return self.base.ready_timeout if self.keys.ready_timeout is None else self.keys.ready_timeout

    @property
    def needs_model(self) -> bool:
        """As the harness, unless the person's own argv names the model."""
        argv = (*(self.keys.interactive or ()), *(self.keys.headless or ()))
        return self.base.needs_model or any("{model}" in word for word in argv)

    @property
    def ends_when_idle(self) -> bool:
        """As the harness."""
        return self.base.ends_when_idle

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        """As the harness; of another executable only whether it is there, for its login may be another too."""
        if self.keys.executable is None:
            return self.base.check(environ)
        fix = f"install it, or correct [harness.{self.name}] executable in piloop.toml"
        return check_program(self.keys.executable, environ, fix=fix)

    def launch(self, context: LaunchContext) -> Launch:
        """Start what the person's argv says, in the environment and with the seeds that the harness needs."""
        launch = self.base.launch(context)
        program = self.keys.executable or launch.argv[0]
        argv, told = (program, *launch.argv[1:]), launch.prompt_in_argv
        words = self.keys.interactive if context.mode == "interactive" else self.keys.headless
        if words is not None:
            command = CommandHarness(
                name=self.name, executable=program, interactive=words, headless=words, send=self.send
            )
            own = command.launch(context)
            argv, told = own.argv, own.prompt_in_argv
        env = dict(zip(self.keys.env, fill(self.keys.env.values(), context), strict=True))
        clear = tuple(variable for variable in launch.clear if variable not in env)
        return msgspec.structs.replace(
            launch, argv=argv, env={**launch.env, **env}, clear=clear, prompt_in_argv=told
        )

    def usage(self, context: LaunchContext) -> Usage | None:
        """As the harness."""
        return self.base.usage(context)

    def received(self, context: LaunchContext, text: str) -> bool | None:
        """As the harness."""
        return self.base.received(context, text)


def _command(base: CommandHarness, keys: HarnessKeys) -> CommandHarness:
    set_keys = {
        key: value
        for key in ("executable", "interactive", "headless", "ready_timeout")
        if (value := getattr(keys, key)) is not None
    }
    screen = _screen(base.screen, keys)
    return msgspec.structs.replace(
        base, **set_keys, env={**base.env, **keys.env}, screen=screen, send=_command_send(base.send, keys)
    )


def _command_send(base: SendRules, keys: HarnessKeys) -> SendRules:
    """A program takes text if a rule shows what became of it; without a composer, lines wait in its terminal."""
    sees = keys.received is not None or keys.composer is not None
    lines = keys.received is not None and keys.composer is None
    send = _send(base, keys)
    return msgspec.structs.replace(send, accepts=send.accepts or sees, while_busy=send.while_busy or lines)


def _screen(base: ScreenRules, keys: HarnessKeys) -> ScreenRules:
    dialogs = {name: (pattern, name if name in CAUSES else "unknown") for name, pattern in keys.dialogs.items()}
    return msgspec.structs.replace(
        base, **_given(keys, "ready", "busy", "composer"), dialogs={**base.dialogs, **dialogs}
    )


def _send(base: SendRules, keys: HarnessKeys) -> SendRules:
    return msgspec.structs.replace(base, **_given(keys, "settle", "newline", "received"))


def _given(keys: HarnessKeys, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(keys, name)) is not None}
