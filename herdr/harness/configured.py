"""Make harnesses from `[harness.<name>]`: new ones, or ones of a plugin with some keys of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from herdr.config import HarnessKeys
from herdr.contract.harness import (
    Cause,
    Harness,
    HarnessBase,
    HarnessStatus,
    Launch,
    LaunchContext,
    ScreenRules,
    SendRules,
    Usage,
)
from herdr.harness.program import check_program
from herdr.harness.template import CommandHarness, fill

CAUSES: Mapping[str, Cause] = {cause: cause for cause in get_args(Cause)}


def configured(name: str, keys: HarnessKeys, base: Harness | None) -> Harness:
    """The harness that a table of piloop.toml describes: `base` with these keys, or a new one.

    Args:
        name: of a new harness.
        keys: the table `[harness.<name>]`; a key that is not set leaves what `base` has.
        base: the harness of that name that a plugin registered; None when there is none.
    """
    if base is None:
        return _command(CommandHarness(name=name), keys)
    if isinstance(base, CommandHarness):
        return _command(base, keys)
    return Override(base, keys)


class Override(HarnessBase):
    """A plugin's harness, but for the keys that a person has set."""

    def __init__(self, base: Harness, keys: HarnessKeys) -> None:
        self.base = base
        self.keys = keys
        self.name = base.name
        self.screen = _screen(base.screen, keys)
        self.send = _send(base.send, keys)
        self.ready_timeout = base.ready_timeout if keys.ready_timeout is None else keys.ready_timeout
        # The person's own argv may name the model.
        argv = (*(keys.interactive or ()), *(keys.headless or ()))
        self.needs_model = base.needs_model or any("{model}" in word for word in argv)
        self.ends_when_idle = base.ends_when_idle

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
    send = _send(base, keys)
    sees = keys.received is not None or keys.composer is not None
    lines = keys.received is not None and keys.composer is None
    accepts = send.accepts or sees if keys.accepts is None else keys.accepts
    while_busy = send.while_busy or lines if keys.while_busy is None else keys.while_busy
    return msgspec.structs.replace(send, accepts=accepts, while_busy=while_busy)


def _screen(base: ScreenRules, keys: HarnessKeys) -> ScreenRules:
    given = _given(keys, ScreenRules)
    tables = {
        name: {**getattr(base, name), **{rule: _caused(rule, regex) for rule, regex in value.items()}}
        for name, value in given.items()
        if isinstance(value, Mapping)
    }
    return msgspec.structs.replace(base, **given | tables)


def _caused(name: str, regex: str | tuple[str, Cause]) -> tuple[str, Cause]:
    """A rule of a table; one without a cause is named after it, as `trust` is, or has an unknown one."""
    return (regex, CAUSES.get(name, "unknown")) if isinstance(regex, str) else regex


def _send(base: SendRules, keys: HarnessKeys) -> SendRules:
    return msgspec.structs.replace(base, **_given(keys, SendRules))


def _given(keys: HarnessKeys, rules: type[ScreenRules | SendRules]) -> dict[str, Any]:
    """What the table says of these rules: each of their fields is a key of it."""
    return {name: value for name in rules.__struct_fields__ if (value := getattr(keys, name)) is not None}
