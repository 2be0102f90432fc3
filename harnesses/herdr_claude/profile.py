"""The configuration folder that agents share: everything that Claude Code would ask about is answered in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from herdr.api import LaunchContext, Seed
from herdr_claude import login

#: It remembers which API keys it may use by the end of each.
KEY_TAIL = 20
#: What of the user's settings a login can depend on: a script that prints a key, a gateway's address.
LOGIN_SETTINGS = ("apiKeyHelper", "env")
#: Milliseconds after which a shell command goes on in the background: by default, and at most.
SHELL_TIMEOUTS = {"BASH_DEFAULT_TIMEOUT_MS": "300000", "BASH_MAX_TIMEOUT_MS": "600000"}


def seeds(context: LaunchContext) -> tuple[Seed, ...]:
    """The files to write: state, settings, and a link to the user's login unless the environment has one."""
    profile, environ = context.profile_dir, context.environ
    state_file = profile / ".claude.json"
    before = _read(state_file)
    state = answered(before, context, _read(login.user_state(environ)).get("oauthAccount"))
    made = [Seed(path=profile / "settings.json", content=_text(_settings(environ)))]
    if state != before:
        made.append(Seed(path=state_file, content=_text(state)))
    credentials = login.credentials(environ)
    if credentials.is_file() and not any(environ.get(name) for name in login.VARIABLES):
        made.append(Seed(path=profile / credentials.name, link=credentials.absolute()))
    return tuple(made)


def answered(before: Mapping[str, Any], context: LaunchContext, account: object) -> dict[str, Any]:
    """The state file with onboarding done, the worktree trusted, the key approved.

    The worktree's path is enough, also once its `.git` is gone; the person's checkout gets no trust. All else
    that Claude Code wrote there stays: other agents may be using the folder.

    Args:
        before: the state file as it is; empty when there is none yet.
        context: the agent that is about to be launched.
        account: the user's own `oauthAccount`; None where the user has none.
    """
    state = {**before, "hasCompletedOnboarding": True}
    if account and "oauthAccount" not in state:
        state["oauthAccount"] = account
    projects = {path: known for path, known in state.get("projects", {}).items() if not _is_over(path, context)}
    for folder in {str(context.cwd), str(context.cwd.resolve())}:
        projects[folder] = {**projects.get(folder, {}), "hasTrustDialogAccepted": True}
    state["projects"] = projects
    key = context.environ.get("ANTHROPIC_API_KEY", "")[-KEY_TAIL:]
    answers = state.get("customApiKeyResponses", {})
    if key and key not in answers.get("approved", []):
        rejected = [other for other in answers.get("rejected", []) if other != key]
        state["customApiKeyResponses"] = {"approved": [*answers.get("approved", []), key], "rejected": rejected}
    return state


def _is_over(path: str, context: LaunchContext) -> bool:
    """Whether it is the worktree of another run that is gone: else the file would grow for ever."""
    parents = (context.cwd.parent, context.cwd.resolve().parent)
    return Path(path).parent in parents and not Path(path).exists()


def _settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """No memory that one agent would leave to the next, and time for a command that measures something."""
    user = _read(login.user_folder(environ) / "settings.json")
    settings = {name: user[name] for name in LOGIN_SETTINGS if name in user}
    return {**settings, "autoMemoryEnabled": False, "env": {**SHELL_TIMEOUTS, **settings.get("env", {})}}


def _read(path: Path) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def _text(value: Mapping[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(value)).decode() + "\n"
