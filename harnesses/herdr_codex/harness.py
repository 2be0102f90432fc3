"""Start Codex so that it works unattended in its sandbox, and say whether it can be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import resources

import msgspec

from herdr.api import (
    HarnessBase,
    HarnessStatus,
    Launch,
    LaunchContext,
    ScreenRules,
    SendRules,
    Usage,
    check_program,
)
from herdr_codex import home, session

INSTALL = "npm install -g @openai/codex"


class CodexHarness(HarnessBase):
    """Codex, started with its first prompt as an argument, in a CODEX_HOME of the agent's own.

    A home for each agent, because Codex chooses the ids of its sessions itself: so all that is in there is this
    agent's. `[plugins.codex] sandbox` in piloop.toml chooses another sandbox than `workspace-write`.
    """

    name = "codex"
    # Enter during a turn cuts the running answer off.
    send = SendRules(while_busy=False, newline="keep", disarm="!/")
    ready_timeout = 120.0

    @cached_property
    def screen(self) -> ScreenRules:
        """The rules in `screen.toml`."""
        text = resources.files(__package__).joinpath("screen.toml").read_bytes()
        return msgspec.toml.decode(text, type=ScreenRules)

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        """Look for `codex` and for a login."""
        status = check_program("codex", environ, fix=INSTALL)
        if not status.found:
            return status
        problem = home.login_problem(environ)
        fix = "run `codex login`, or export OPENAI_API_KEY" if problem else ""
        return msgspec.structs.replace(status, logged_in=not problem, problem=problem, fix=fix)

    def launch(self, context: LaunchContext) -> Launch:
        """Give it the prompt; without its daemon, which would go on working after the pane is gone."""
        model = ("--model", context.model) if context.model else ()
        if context.mode == "headless":
            start: tuple[str, ...] = ("codex", "exec", "--json", "--skip-git-repo-check")
        else:
            start = ("codex", "--no-daemon", "--no-alt-screen")
        return Launch(
            argv=(*start, *model, context.prompt),
            env={"CODEX_HOME": str(home.folder(context))},
            clear=("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
            seeds=home.seeds(context),
            prompt_in_argv=True,
        )

    def usage(self, context: LaunchContext) -> Usage | None:
        """Take the last count of each of its rollouts."""
        return session.usage(home.folder(context))

    def received(self, context: LaunchContext, text: str) -> bool | None:
        """Look for the text among the prompts of its rollouts."""
        return session.received(home.folder(context), text)
