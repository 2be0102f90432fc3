"""Start Claude Code so that it works unattended, and say whether it can be."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
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
from herdr_claude import login, session
from herdr_claude.profile import seeds

INSTALL = "npm install -g @anthropic-ai/claude-code"
#: Tells a Claude Code that it runs inside another one: it would then write no transcript.
SESSION_VARIABLES = (
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR",
)
#: What it may run without asking, besides the evaluate command and editing files of its worktree.
ALLOWED = ("Bash(git *)", "Bash(piloop *)")


class ClaudeHarness(HarnessBase):
    """Claude Code, started with its first prompt as an argument, in a configuration folder of herdr's own.

    `[plugins.claude] allowed_tools = ["Bash(make *)"]` in piloop.toml adds to what it may do without asking.
    """

    name = "claude"
    send = SendRules(while_busy=True, newline="keep", disarm="!/#", disarm_at=True)
    ready_timeout = 90.0

    @cached_property
    def screen(self) -> ScreenRules:
        """The rules in `screen.toml`."""
        return msgspec.toml.decode(
            resources.files(__package__).joinpath("screen.toml").read_bytes(), type=ScreenRules
        )

    def check(self, environ: Mapping[str, str]) -> HarnessStatus:
        """Look for `claude` and for a login."""
        status = check_program("claude", environ, fix=INSTALL)
        if not status.found:
            return status
        logged_in = login.logged_in(environ)
        if logged_in is not False:
            return msgspec.structs.replace(status, logged_in=logged_in)
        problem = f"not logged in: no API key in the environment and no {login.credentials(environ)}"
        fix = "run `claude` and type /login, or export ANTHROPIC_API_KEY"
        return msgspec.structs.replace(status, logged_in=False, problem=problem, fix=fix)

    def launch(self, context: LaunchContext) -> Launch:
        """Give it the prompt, edits without questions, git and piloop in its shell, no updates, no telemetry."""
        # A line for each message, so that the log shows what it does; without --verbose it refuses that format.
        headless = ("-p", "--output-format", "stream-json", "--verbose") if context.mode == "headless" else ()
        model = ("--model", context.model) if context.model else ()
        # The tools take every word up to the next flag, so neither the prompt nor the end may follow them.
        argv = (
            *("claude", *headless, context.prompt, *model, "--permission-mode", "acceptEdits"),
            *("--allowedTools", *ALLOWED, *_own_check(context.evaluate), *_allowed(context.settings)),
            *("--session-id", context.session_id),
        )
        env = {
            "CLAUDE_CONFIG_DIR": str(context.profile_dir),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # By its own default it tries for three minutes before it says that a key is wrong.
            "CLAUDE_CODE_MAX_RETRIES": context.environ.get("CLAUDE_CODE_MAX_RETRIES", "3"),
            "DISABLE_AUTOUPDATER": "1",
        }
        return Launch(argv=argv, env=env, clear=SESSION_VARIABLES, seeds=seeds(context), prompt_in_argv=True)

    def usage(self, context: LaunchContext) -> Usage | None:
        """Add up the messages of its transcript."""
        return session.usage(context.profile_dir, context.session_id)

    def received(self, context: LaunchContext, text: str) -> bool | None:
        """Look for the text among the prompts of its transcript, those still queued included."""
        return session.received(context.profile_dir, context.session_id, text)


def _own_check(evaluate: Sequence[str]) -> tuple[str, ...]:
    """The evaluate command: an agent that must ask before it checks its work stands at a dialog all night."""
    command = shlex.join(evaluate)
    return (f"Bash({command})", f"Bash({command} *)") if command else ()


def _allowed(settings: Mapping[str, object]) -> tuple[str, ...]:
    more = settings.get("allowed_tools", ())
    return tuple(str(tool) for tool in more) if isinstance(more, Sequence) and not isinstance(more, str) else ()
