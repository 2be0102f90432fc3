"""A harness that is only an argv with placeholders and a few rules: what `[harness.<name>]` defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import PurePath
from typing import Literal

import msgspec

from herdr.contract.harness import HarnessBase, HarnessStatus, Launch, LaunchContext, ScreenRules, SendRules
from herdr.errors import HerdrError
from herdr.harness.program import check_program

PLACEHOLDER = re.compile(r"\{(brief|prompt|model|cwd|session_id|log_dir)\}")
#: A word that stood for the flags of tool servers; it is no words until those exist.
NO_WORDS = "{mcp}"


class CommandHarness(HarnessBase, msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Any program as a harness.

    `interactive` and `headless` are argv with `{brief} {prompt} {model} {cwd} {session_id} {log_dir}` in them;
    `executable` stands before them where it is given. An agent whose argv and environment name neither the brief
    nor the prompt gets the prompt typed, if it accepts text: it does when there is a rule by which to see that
    text arrived (`received`) or where it stands (`composer`). Without a `ready` rule and a composer it is ready
    as soon as its process runs.
    """

    name: str
    executable: str | None = None
    """The program; without it, the first word of the argv."""
    interactive: tuple[str, ...] = ()
    """The argv in a tmux window."""
    headless: tuple[str, ...] = ()
    """The argv of a background process, which ends by itself."""
    env: Mapping[str, str] = {}
    """Additions to the agent's environment, with the same placeholders."""
    screen: ScreenRules = ScreenRules()
    send: SendRules = SendRules(accepts=False)
    ready_timeout: float = 60.0

    @cached_property
    def needs_model(self) -> bool:
        """Whether some word or variable of it names the model."""
        return any("{model}" in word for word in (*self.interactive, *self.headless, *self.env.values()))

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        """Look for its program; it is not run, for nobody knows what `--version` means to it."""
        program = self.executable or next(iter(self.interactive or self.headless), None)
        if program is None:
            return HarnessStatus(found=False, problem="it has no command", fix=self._no_argv("interactive"))
        fix = f"install {program}, or correct [harness.{self.name}] in piloop.toml"
        return check_program(program, environ, version=False, fix=fix)

    def launch(self, context: LaunchContext) -> Launch:
        """Fill in the placeholders.

        Raises:
            HerdrError: there is no argv for this mode, or it names a model and none is set.
        """
        argv = self._argv(context.mode)
        if argv is None:
            raise HerdrError(
                f"harness {self.name} has no command for {context.mode} agents", fix=self._no_argv(context.mode)
            )
        words = [*argv, *self.env.values()]
        if context.model is None and any("{model}" in word for word in words):
            raise HerdrError(
                f"harness {self.name} needs a model, and none is set for the role {context.role}",
                fix=f'set {self.name} = "<model>" under [model] in piloop.toml',
            )
        told = any("{brief}" in word or "{prompt}" in word for word in words)
        return Launch(
            argv=tuple(fill(argv, context)),
            env=dict(zip(self.env, fill(self.env.values(), context), strict=True)),
            prompt_in_argv=told or not self.send.accepts,
        )

    def _argv(self, mode: Literal["interactive", "headless"]) -> tuple[str, ...] | None:
        words = self.interactive if mode == "interactive" else self.headless
        if self.executable is None:
            return words or None
        if words and PurePath(words[0]).name == PurePath(self.executable).name:
            words = words[1:]
        return (self.executable, *words)

    def _no_argv(self, mode: str) -> str:
        return f'set {mode} = ["program", "{{prompt}}"] under [harness.{self.name}] in piloop.toml'


def fill(words: Iterable[str], context: LaunchContext) -> list[str]:
    """Replace the placeholders in each word literally and once: other braces survive, and so do those put in.

    Args:
        words: an argv, or the values of an environment.
        context: whose values the placeholders stand for.
    """
    values = {
        "brief": str(context.brief),
        "prompt": context.prompt,
        "model": context.model or "",
        "cwd": str(context.cwd),
        "session_id": context.session_id,
        "log_dir": str(context.state_dir),
    }
    return [PLACEHOLDER.sub(lambda found: values[found[1]], word) for word in words if word != NO_WORDS]
