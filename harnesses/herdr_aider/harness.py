"""Start Aider so that it works unattended and leaves nothing in the worktree, and say whether it can be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib import resources
from pathlib import Path

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
from herdr_aider import session

INSTALL = "uv tool install --python 3.12 aider-chat"
#: Some of the variables by which Aider picks a model by itself.
KEYS = (
    "ANTHROPIC_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
)
#: Where it keeps settings and keys in the user's home.
CONFIGS = (".aider.conf.yml", ".env", ".aider/oauth-keys.env")
UNATTENDED = (
    "--yes-always",
    "--no-check-update",
    "--no-gitignore",
    "--no-show-release-notes",
    "--analytics-disable",
    "--no-show-model-warnings",
    "--no-detect-urls",
    "--no-pretty",
    *("--map-tokens", "0"),
)


class AiderHarness(HarnessBase):
    """Aider, which commits each of its edits by itself and runs no commands.

    It opens no file that it is not given, so it gets the brief as one to read; its first prompt is typed, because
    it takes none as an argument without ending after it. Headless it ends after one message: the brief itself.
    """

    name = "aider"
    send = SendRules(while_busy=False, newline="space", disarm="!/")
    ready_timeout = 120.0

    @cached_property
    def screen(self) -> ScreenRules:
        """The rules in `screen.toml`."""
        text = resources.files(__package__).joinpath("screen.toml").read_bytes()
        return msgspec.toml.decode(text, type=ScreenRules)

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        """Look for `aider` and for a key: one it knows in the environment, or a file that may hold one."""
        status = check_program("aider", environ, fix=INSTALL)
        if not status.found:
            return status
        if any(environ.get(name) for name in KEYS):
            return msgspec.structs.replace(status, logged_in=True)
        home = Path(environ.get("HOME") or Path.home())
        if any((home / name).is_file() for name in CONFIGS):
            return status
        problem = f"no key: none of {', '.join(KEYS)} is set and there is no {home / CONFIGS[0]}"
        fix = "export the key of your provider, for example OPENAI_API_KEY"
        return msgspec.structs.replace(status, logged_in=False, problem=problem, fix=fix)

    def launch(self, context: LaunchContext) -> Launch:
        """Answer its questions beforehand, and put its histories into the agent's own folder."""
        state = context.state_dir
        model = ("--model", context.model) if context.model else ()
        headless = context.mode == "headless"
        argv = (
            *("aider", *model, *UNATTENDED, "--message-file" if headless else "--read", str(context.brief)),
            *("--chat-history-file", str(state / session.CHAT)),
            *("--input-history-file", str(state / "input.history")),
            *("--llm-history-file", str(state / "llm.history")),
            *("--analytics-log", str(state / session.ANALYTICS)),
        )
        # It answers yes to opening a page about an error, which would start a browser.
        env = {"BROWSER": "/bin/true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        return Launch(argv=argv, env=env, prompt_in_argv=headless)

    def usage(self, context: LaunchContext) -> Usage | None:
        """Add up its own log. While an answer streams, Aider itself estimates what it used."""
        return session.usage(context.state_dir)

    def received(self, context: LaunchContext, text: str) -> bool | None:
        """Look for the text among the prompts of its chat history."""
        return session.received(context.state_dir, text)
